#include "msaccucmp/read/file_times.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text/concat.h"
#include "base/text/text.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

constexpr std::size_t kStampDigits = 16;  // microseconds since the epoch

enum class NamePart { time, slice };

// The word for what `name` should contain, if it does not.
std::string_view missing_part(std::string_view name, TaskMode mode, NamePart part) {
  const std::vector<std::string_view> fields = split(name, '.');
  if (fields.size() < 4) return "";  // a number
  if (part == NamePart::slice && mode == TaskMode::automatic)
    return is_digits(fields[fields.size() - 2]) ? "" : "thread_id";
  if (part == NamePart::slice) return is_digits(fields[1].substr(fields[1].size() - 1)) ? "" : "slice_x";
  std::string_view time = fields.back();
  if (mode != TaskMode::normal)
    time = fields[4];
  else if (time == "npy" || time == "pb" || time == "quant")
    time = fields[fields.size() - 2];
  return time.size() == kStampDigits && is_digits(time) ? "" : "timestamp";
}

void warn_of(std::string_view path, TaskMode mode, NamePart part, Log& log) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (const std::string_view missing = missing_part(name, mode, part); !missing.empty())
    log.warn(concat({"The file name \"", name, "\"'s ", missing, " is invalid."}));
}

void warn_of_order(const OperatorFiles& files, Log& log) {
  if (files.paths.size() < 2) return;
  for (const std::string& path : files.paths) warn_of(path, files.mode, NamePart::time, log);
  if (files.mode == TaskMode::normal) return;
  for (const std::string& path : files.paths) warn_of(path, files.mode, NamePart::slice, log);
}

}  // namespace

void warn_of_times(const OperatorFiles& files, Log& log) {
  warn_of_order(files, log);
  warn_of(files.paths.back(), files.mode, NamePart::time, log);
}

void report_files(const DumpFolder& folder, const std::string& op, const OperatorFiles& files, Log& log) {
  warn_of_order(files, log);
  log.info(concat({"[", op, "] [", folder.kind_word(), "] ", DumpFolder::list_of(files.paths)}));
}

}  // namespace opdump::msaccucmp
