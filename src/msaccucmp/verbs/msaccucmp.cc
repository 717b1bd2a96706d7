// The verbs of `opdump msaccucmp`: one row each.
#include "msaccucmp/verbs/msaccucmp.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "group/group.h"
#include "msaccucmp/python_text.h"
#include "msaccucmp/verbs/compare.h"
#include "msaccucmp/verbs/help.h"
#include "terminal/output.h"

namespace opdump::msaccucmp {
namespace {

using Kind = ArgumentSpec::Kind;

constexpr int kFileVersions[] = {1, 2};
constexpr int kTopCounts[] = {1, 2, 3, 4, 5};

constexpr ArgumentSpec kConvertOptions[] = {
    {"-d", "--dump_file", Kind::path, true, {}},
    {"-f", "--format", Kind::text, false, {}},
    {"-s", "--shape", Kind::text, false, {}},
    {"-o", "--output_tensor", Kind::text, false, {}, 1},
    {"-i", "--input_tensor", Kind::text, false, {}, 1},
    {"-c", "--custom_script_path", Kind::path, false, {}},
    {"-out", "--output", Kind::text, false, {}},
    {"-v", "--version", Kind::integer, false, kFileVersions},
    {"-t", "--type", Kind::text, false, {}, 0, false, kConvertTypes},
    {"--bug-compatible", "", Kind::flag, false, {}, 0, false, {}, true},
};
constexpr ArgumentSpec kOverflowOptions[] = {
    {"-d", "--dump_path", Kind::path, true, {}},
    {"-out", "--output", Kind::path, true, {}},
    {"-n", "--top_n", Kind::integer, false, kTopCounts},
};
constexpr ArgumentSpec kFileCompareOptions[] = {
    {"-m", "--my_dump_path", Kind::path, true, {}},
    {"-g", "--golden_dump_path", Kind::path, true, {}},
    {"-out", "--output", Kind::path, true, {}},
};

struct Verb {
  std::string_view name, usage, help;
  std::span<const ArgumentSpec> options;
  Status (*run)(const ParsedArguments& values);
  bool is_shared = false;  // by the processes that mpirun has started; otherwise the first one does it all
};
constexpr Verb kVerbs[] = {
    {"convert", kConvertUsage, kConvertHelp, kConvertOptions, run_convert, true},
    {"overflow", kOverflowUsage, kOverflowHelp, kOverflowOptions, run_overflow},
    {"file_compare", kFileCompareUsage, kFileCompareHelp, kFileCompareOptions, run_file_compare},
};

int wrong_use(const std::string& text) {
  terminal::print_log((text + "\n"));
  return kWrongUse;
}

int finish(Status status, std::chrono::steady_clock::time_point begin) {
  if (status == kCrash) return static_cast<int>(Status::unknown);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  log_line(Severity::info,
           "The command was completed and took " + std::to_string(seconds.count()) + " seconds.");
  return static_cast<int>(status);
}

int wrong_words(const std::vector<std::string>& unrecognized) {
  std::string words;
  for (const std::string& word : unrecognized) words += " " + word;
  return wrong_use(std::string(kMsaccucmpUsage) + "msaccucmp.py: error: unrecognized arguments:" + words);
}

int run_verb(const Verb& verb, std::span<const char* const> args, std::vector<std::string> unrecognized) {
  if (!verb.is_shared && group::process_rank() != 0) return 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto values = parse_arguments(verb.options, args);
  const std::string mistake =
      std::string(verb.usage) + "msaccucmp.py " + std::string(verb.name) + ": error: ";
  if (!values) return wrong_use(mistake + values.error().message());
  if (values->wants_help) {
    terminal::print(verb.usage);
    terminal::print(verb.help);
    return 0;
  }
  unrecognized.insert(unrecognized.end(), values->unrecognized.begin(), values->unrecognized.end());
  return unrecognized.empty() ? finish(verb.run(*values), begin) : wrong_words(unrecognized);
}

void print_help() {
  terminal::print(kMsaccucmpUsage);
  terminal::print(kMsaccucmpHelp);
}

bool is_control(char c) { return (c >= '\0' && c < ' ') || c == '\x7f'; }

// Eight characters at a time: nearly no line has one.
bool has_control(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kTops = 0x80 * kOnes;
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data(), 8);
    const std::uint64_t low = (eight & ~kTops), is_low = ~(low + 0x60 * kOnes), is_last = low + kOnes;
    if (((is_low | is_last) & ~eight & kTops) != 0) return true;
  }
  return std::ranges::any_of(text, is_control);
}

}  // namespace

LogText::LogText() {
  // Each operator has a text, and to tell the time takes longer than all else of it.
  thread_local std::time_t last_time = -1;
  thread_local ::pid_t last_process = -1;
  thread_local std::string last_start;
  const std::time_t now = std::time(nullptr);
  const ::pid_t process = ::getpid();
  if (now != last_time || process != last_process) {
    std::tm local{};
    ::localtime_r(&now, &local);
    std::array<char, 32> time{};
    std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S", &local);
    last_start = std::string(time.data()) + " (" + std::to_string(process) + ") - [";
    last_time = now;
    last_process = process;
  }
  start_ = last_start;
  constexpr std::size_t kUsualLength = 1 << 10;
  text_.reserve(kUsualLength);
}

void LogText::add(Severity severity, std::string_view text) {
  constexpr std::string_view kNames[] = {"INFO", "WARNING", "ERROR"};
  text_.append(start_).append(kNames[static_cast<std::size_t>(severity)]).append("] ");
  const std::size_t begin = text_.size();
  text_.append(text);
  if (has_control(text))
    std::replace_if(text_.begin() + static_cast<std::ptrdiff_t>(begin), text_.end(), is_control, '_');
  text_ += '\n';
}

void log_line(Severity severity, std::string_view text) {
  LogText line;
  line.add(severity, text);
  terminal::print_log(line.take());
}

Status fail(Status status, std::string_view message) {
  log_line(Severity::error, message);
  return status;
}

void Log::say(Severity severity, std::string text) {
  if (is_kept_)
    lines_.emplace_back(severity, std::move(text));
  else
    log_line(severity, text);
}

Status Log::fail(Status status, std::string text) {
  say(Severity::error, std::move(text));
  return status;
}

Status Log::crash(const std::string& text) {
  return fail(kCrash, "Basic error running msaccucmp.py: " + text);
}

std::string Log::text() const {
  if (lines_.empty()) return {};
  LogText all;
  for (const auto& [severity, text] : lines_) all.add(severity, text);
  return all.take();
}

void Log::flush() {
  terminal::print_log(text());
  lines_.clear();
}

Result<int> run(std::span<const char* const> args) {
  if (args.empty()) {
    print_help();
    OPDUMP_CHECK_OK(terminal::flush_output());
    return finish(Status::invalid_parameter, std::chrono::steady_clock::now());
  }
  const std::string mistake = std::string(kMsaccucmpUsage) + "msaccucmp.py: error: ";
  const std::size_t before = count_leading_options(args);  // the verb
  const auto options = parse_arguments({}, args.first(before));
  if (!options) return wrong_use(mistake + options.error().message());
  if (options->wants_help) {
    print_help();
    return 0;
  }
  if (before == args.size()) return wrong_words(options->unrecognized);
  const std::string_view word = args[before];
  const auto rest = args.subspan(before + 1);
  if (word == "compare") return run_compare(rest, options->unrecognized);
  for (const Verb& verb : kVerbs)
    if (verb.name == word) return run_verb(verb, rest, options->unrecognized);
  return wrong_use(mistake + "argument {compare,convert,overflow,file_compare}: invalid choice: " +
                   python_quoted(word) + " (choose from 'compare', 'convert', 'overflow', 'file_compare')");
}

}  // namespace opdump::msaccucmp
