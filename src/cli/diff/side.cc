#include "cli/diff/side.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file/file.h"
#include "base/process/logged_child.h"
#include "base/text/text.h"
#include "cli/record/recorded_program.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::string_view kOurs = "opdump: ";
constexpr std::uint64_t kMostLog = 64 << 20;

std::vector<std::string> recorder_words(const DiffSide& side, const std::string& program,
                                        const fs::path& dump, const RecordingOptions& options) {
  std::vector<std::string> words{program, "run", "-o", dump.string()};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), side.command.words.begin(), side.command.words.end());
  return words;
}

// The last line that is not empty, of opdump or of the program.
std::string last_line(const fs::path& log, bool of_opdump) {
  const auto text = read_file(log, kMostLog);
  if (!text) return {};
  const auto lines = split(*text, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (!trim(*line).empty() && line->starts_with(kOurs) == of_opdump)
      return std::string(of_opdump ? line->substr(kOurs.size()) : trim(*line));
  return {};
}

bool has_recording(const fs::path& dump) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(dump, ignored))
    if (entry.path().filename().string().starts_with("rank_")) return true;
  return false;
}

// Its exit status; nothing if `poll` said that it should end.
std::optional<int> wait_for(LoggedChild& child, const std::string& label, const std::function<bool()>& poll) {
  terminal::LiveLine line;
  const auto begin = steady_clock::now();
  for (;;) {
    if (const auto status = child.wait(std::chrono::milliseconds(200))) return status;
    if (poll && poll()) return std::nullopt;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - begin);
    line.show(label + ": " + std::to_string(seconds.count()) + " s");
  }
}

// Too little room for the first files of a recording, and for what it says of that.
bool is_disk_full(const fs::path& folder) {
  constexpr std::uintmax_t kLeast = 64 << 10;
  std::error_code failure;
  const fs::space_info room = fs::space(folder, failure);
  return !failure && room.available < kLeast;
}

Error explain(const DiffSide& side, const SideRun& recording) {
  if (is_disk_full(side.folder))
    return {Code::io, side.name + " cannot be recorded: " + side.folder.string() + ": " +
                          std::generic_category().message(ENOSPC)};
  const std::string ours = last_line(recording.log, true);
  if (recording.status == 126 || recording.status == 127) {
    const std::string theirs = last_line(recording.log, false);
    return {Code::not_found, side.name + " cannot be started: " +
                                 (!ours.empty()     ? ours
                                  : !theirs.empty() ? theirs
                                                    : side.command.text)};
  }
  constexpr std::string_view kRefused = "nothing can be recorded";
  if (recording.status != 0 && ours.find(kRefused) == std::string::npos)
    return {Code::io, describe_end(side, recording) + " before anything was recorded; its output is in " +
                          recording.log.string()};
  return {Code::not_found, side.name + ": " + (ours.empty() ? "nothing was recorded" : ours)};
}

}  // namespace

Result<SideRun> record(const DiffSide& side, const std::string& name, const RecordingOptions& options,
                       const std::function<bool()>& poll) {
  OPDUMP_TRY(const fs::path program, find_own_program());
  OPDUMP_CHECK_OK(make_directories(side.folder, 0777));
  SideRun recording{.dump = fs::absolute(side.folder / name), .log = side.folder / (name + ".log")};
  LoggedChild::Plan plan{.command = recorder_words(side, program.string(), recording.dump, options),
                         .environment = side.command.environment,
                         .directory = side.directory,
                         .log = recording.log};
  auto child = LoggedChild::start(plan);
  if (!child) return child.take_error().within(side.name + " cannot be started");
  const auto status = wait_for(*child, "running " + side.name, poll);
  recording.was_stopped = !status;
  if (!status) child->stop();
  recording.status = status.value_or(0);
  recording.dump = side.folder / name;
  if (recording.status != 0) recording.last_line = last_line(recording.log, false);
  if (!has_recording(recording.dump)) return explain(side, recording);
  return recording;
}

std::string recording_command(const DiffSide& side, const std::string& name,
                              const RecordingOptions& options) {
  std::string text;
  if (!side.directory.empty()) text += "cd " + quote_word(side.directory.string()) + " && ";
  for (const auto& [variable, value] : side.command.environment)
    text.append(variable).append("=").append(quote_word(value)).append(" ");
  std::string words;
  const fs::path dump = side.directory.empty() ? side.folder / name : fs::absolute(side.folder / name);
  for (const std::string& word : recorder_words(side, "opdump", dump, options))
    words += (words.empty() ? "" : " ") + quote_word(word);
  return text + words;
}

std::string describe_end(const DiffSide& side, const SideRun& recording) {
  if (recording.status == 0) return {};
  std::string text = side.name + " ended with ";
  text += recording.status > 128 ? "signal " + std::to_string(recording.status - 128)
                                 : "exit status " + std::to_string(recording.status);
  return recording.last_line.empty() ? text : text + " (" + recording.last_line + ")";
}

Result<dump::DumpSet> open_recording(const DiffSide& side, const SideRun& recording) {
  auto opened = dump::DumpSet::open(recording.dump, terminal::print_remark);
  if (!opened) return opened.take_error().within(side.name);
  return opened;
}

}  // namespace opdump::cli
