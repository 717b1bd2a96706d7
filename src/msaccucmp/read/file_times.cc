#include "msaccucmp/read/file_times.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "base/text.h"

namespace opdump::msaccucmp {
namespace {

constexpr std::size_t kTimeDigits = 16;  // microseconds since the epoch

enum class Part { time, slice };

// The word for what `name` should tell, if it does not.
std::string_view missing_part(std::string_view name, TaskMode mode, Part part) {
  const std::vector<std::string_view> fields = split(name, '.');
  if (fields.size() < 4) return "";  // a number
  if (part == Part::slice && mode == TaskMode::automatic)
    return is_digits(fields[fields.size() - 2]) ? "" : "thread_id";
  if (part == Part::slice) return is_digits(fields[1].substr(fields[1].size() - 1)) ? "" : "slice_x";
  std::string_view time = fields.back();
  if (mode != TaskMode::normal)
    time = fields[4];
  else if (time == "npy" || time == "pb" || time == "quant")
    time = fields[fields.size() - 2];
  return time.size() == kTimeDigits && is_digits(time) ? "" : "timestamp";
}

void warn_of(std::string_view path, TaskMode mode, Part part, Journal& journal) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (const std::string_view missing = missing_part(name, mode, part); !missing.empty())
    journal.warn(concat({"The file name \"", name, "\"'s ", missing, " is invalid."}));
}

void warn_of_order(const OperatorFiles& files, Journal& journal) {
  if (files.paths.size() < 2) return;
  for (const std::string& path : files.paths) warn_of(path, files.mode, Part::time, journal);
  if (files.mode == TaskMode::normal) return;
  for (const std::string& path : files.paths) warn_of(path, files.mode, Part::slice, journal);
}

}  // namespace

void warn_of_times(const OperatorFiles& files, Journal& journal) {
  warn_of_order(files, journal);
  warn_of(files.paths.back(), files.mode, Part::time, journal);
}

void tell_files(const DumpFolder& folder, const std::string& op, const OperatorFiles& files,
                Journal& journal) {
  warn_of_order(files, journal);
  journal.info(concat({"[", op, "] [", folder.kind_word(), "] ", DumpFolder::list_of(files.paths)}));
}

}  // namespace opdump::msaccucmp
