// The verbs of `opdump msaccucmp`: one row each.
#include "msaccucmp/verbs/msaccucmp.h"
#include "msaccucmp/log.h"

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

struct OriginalVerb {
  std::string_view name, usage, help;
  std::span<const ArgumentSpec> options;
  Status (*run)(const ParsedArguments& values);
  bool is_shared = false;  // by the processes that mpirun has started; otherwise the first one does it all
};
constexpr OriginalVerb kVerbs[] = {
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

int run_verb(const OriginalVerb& verb, std::span<const char* const> args,
             std::vector<std::string> unrecognized) {
  if (!verb.is_shared && group::process_rank() != 0) return 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto values = parse_arguments(verb.options, args);
  const std::string mistake =
      std::string(verb.usage) + "msaccucmp.py " + std::string(verb.name) + ": error: ";
  if (!values) return wrong_use(mistake + values.error().message());
  if (values->wants_help) {
    terminal::end_when_unread(0);
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

}  // namespace

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
    terminal::end_when_unread(0);
    print_help();
    return 0;
  }
  if (before == args.size()) return wrong_words(options->unrecognized);
  const std::string_view word = args[before];
  const auto rest = args.subspan(before + 1);
  if (word == "compare") return run_compare(rest, options->unrecognized);
  for (const OriginalVerb& verb : kVerbs)
    if (verb.name == word) return run_verb(verb, rest, options->unrecognized);
  return wrong_use(mistake + "argument {compare,convert,overflow,file_compare}: invalid choice: " +
                   python_quoted(word) + " (choose from 'compare', 'convert', 'overflow', 'file_compare')");
}

}  // namespace opdump::msaccucmp
