#include "dump/watch_file.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/text/json.h"

namespace opdump::dump {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWatchFileVersion = 1;
constexpr std::uint64_t kMaxWatchFileBytes = 1 << 20;

// One list of the fields, for writing and for reading.
template <typename W, typename F>
void visit_fields(W& watched, const F& visit) {
  visit("kept_steps", watched.kept_steps);
  visit("skipped_count", watched.skipped_count);
  visit("first_step", watched.first_step);
  visit("alarm", watched.alarm.kind);
  visit("step", watched.alarm.step);
  visit("operator", watched.alarm.operator_name);
  visit("slot", watched.alarm.slot);
  visit("text", watched.alarm.text);
  visit("time_us", watched.alarm.time_us);
}

bool take(const Json& value, std::string& field) {
  if (value.is_string()) field = value.get<std::string>();
  return value.is_string();
}
template <typename T>
bool take(const Json& value, T& field) {
  if (value.is_number_integer()) field = value.get<T>();
  return value.is_number_integer();
}

}  // namespace

Result<> write_watch_file(const std::filesystem::path& rank_directory, const Watched& watched) {
  Json object{{"schema_version", kWatchFileVersion}};
  visit_fields(watched, [&](const char* key, const auto& field) { object[key] = field; });
  return write_file_atomic(rank_directory / kWatchFileName, json_text(object, 2) + "\n", 0600);
}

Result<Watched> read_watch_file(const std::filesystem::path& rank_directory) {
  const std::filesystem::path path = rank_directory / kWatchFileName;
  OPDUMP_TRY(const std::string text, read_file(path, kMaxWatchFileBytes));
  const Json root = parse_ordered_json(text);
  if (!root.is_object() || root.value("schema_version", Json()) != kWatchFileVersion)
    return Error(Code::corrupt, path.string() + ": not what opdump writes, or of another version");
  Watched watched;
  std::string wrong;
  visit_fields(watched, [&](const char* key, auto& field) {
    if (!take(root.value(key, Json()), field)) wrong = key;
  });
  if (!wrong.empty())
    return Error(Code::corrupt, path.string() + ": " + wrong + " is missing or of another type");
  return watched;
}

}  // namespace opdump::dump
