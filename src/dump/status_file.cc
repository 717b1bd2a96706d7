#include "dump/status_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/text/json.h"
#include "model/operator.h"

namespace opdump::dump {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;
constexpr std::uint64_t kMaxStatusBytes = 64 << 20;

// One list of the plain fields, for writing and for reading.
template <typename S, typename F>
requires std::is_same_v<std::remove_const_t<S>, RecordingStatus>
void for_each_field(S& status, const F& visit) {
  visit("state", status.state);
  visit("run_id", status.run_id);
  visit("process", status.process);
  visit("time_directory", status.time_directory);
  visit("opdump_version", status.opdump_version);
  visit("runtime", status.runtime);
  visit("config_path", status.config_path);
  visit("config_text", status.config_text);
  visit("pid", status.pid);
  visit("started_us", status.started_us);
  visit("ended_us", status.ended_us);
  visit("operator_count", status.operator_count);
  visit("call_count", status.call_count);
  visit("tensor_count", status.tensor_count);
  visit("tensor_bytes", status.tensor_bytes);
  visit("row_count", status.row_count);
  visit("first_step", status.first_step);
  visit("last_step", status.last_step);
  visit("tail_step", status.tail_step);
  visit("lacks_tail", status.lacks_tail);
  visit("reached_step", status.reached_step);
  visit("cut_step", status.cut_step);
  visit("reads_checked", status.reads_checked);
}

template <typename E, typename F>
requires std::is_same_v<std::remove_const_t<E>, EarlierRecording>
void for_each_field(E& earlier, const F& visit) {
  visit("run_id", earlier.run_id);
  visit("state", earlier.state);
  visit("started_us", earlier.started_us);
  visit("ended_us", earlier.ended_us);
  visit("first_step", earlier.first_step);
  visit("last_step", earlier.last_step);
}

// What recordings of a process that knew less do not have.
bool may_be_absent(std::string_view key) {
  return key == "run_id" || key == "time_directory" || key == "earlier" || key == "tail_step" ||
         key == "lacks_tail" || key == "reached_step" || key == "cut_step" || key == "reads_checked" ||
         key == "environment" || key == "config_text";
}

// False if `value` has another type or does not fit.
bool assign(const json& value, std::string& field) {
  if (value.is_string()) field = value.get<std::string>();
  return value.is_string();
}
bool assign(const json& value, std::uint64_t& field) {
  if (value.is_number_unsigned()) field = value.get<std::uint64_t>();
  return value.is_number_unsigned();
}
bool assign(const json& value, std::int64_t& field) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return false;
  if (value.is_number_integer()) field = value.get<std::int64_t>();
  return value.is_number_integer();
}
bool assign(const json& value, bool& field) {
  if (value.is_boolean()) field = value.get<bool>();
  return value.is_boolean();
}
bool assign(const json& value, std::vector<std::string>& field) {
  if (!value.is_array()) return false;
  for (const json& item : value)
    if (!assign(item, field.emplace_back())) return false;
  return true;
}
bool assign(const json& value, RunEnvironment& field) {
  if (!value.is_object()) return false;
  for (const auto& [name, text] : value.items())
    if (!assign(text, field[name])) return false;
  return true;
}
bool assign(const json& value, std::vector<EarlierRecording>& field) {
  if (!value.is_array()) return false;
  for (const json& item : value) {
    EarlierRecording& earlier = field.emplace_back();
    bool is_right = item.is_object();
    const auto visit = [&](const char* key, auto& member) {
      is_right = is_right && assign(item.value(key, json()), member);
    };
    for_each_field(earlier, visit);
    if (!is_right) return false;
  }
  return true;
}
bool assign(const json& value, std::vector<Loss>& field) {
  if (!value.is_array()) return false;
  for (const json& item : value) {
    Loss& loss = field.emplace_back();
    if (!item.is_object() || !assign(item.value("what", json()), loss.what) ||
        !assign(item.value("reason", json()), loss.reason) ||
        !assign(item.value("count", json()), loss.count) || !assign(item.value("first", json()), loss.first))
      return false;
  }
  return true;
}

// What a process that did not end its recording lost.
void note_end(RecordingStatus& whole, const RecordingStatus& status, const std::string& file) {
  if (status.state == "recording" && !status.process.empty())
    whole.losses.push_back({"end of the recording of " + status.process, "it was cut short", 1, file});
}

bool have_steps_in_common(const RecordingStatus& a, const RecordingStatus& b) {
  return a.first_step >= 0 && b.first_step >= 0 && a.first_step <= b.last_step && b.first_step <= a.last_step;
}

// Adds what another process of the rank recorded and lost.
void add_process(RecordingStatus& whole, const StatusFile& file) {
  if (!file.status) {
    whole.losses.push_back({"recording of another process", file.status.error().message(), 1, file.name});
    return;
  }
  const RecordingStatus& status = *file.status;
  if (status.run_id != whole.run_id) {
    whole.losses.push_back(
        {"recording of another process", "it is of another run, " + status.run_id, 1, file.name});
    return;
  }
  whole.losses.insert(whole.losses.end(), status.losses.begin(), status.losses.end());
  // Programs that one command started one after the other, say: their operators have the same names.
  if (status.process == whole.process && status.pid != whole.pid && have_steps_in_common(status, whole))
    whole.losses.push_back({"steps of a single program",
                            "several programs of the run recorded them into one folder", 1, file.name});
  note_end(whole, status, file.name);
  if (status.state == "recording" && status.process.empty()) whole.state = status.state;
  whole.operator_count += status.operator_count;
  whole.call_count += status.call_count;
  whole.tensor_count += status.tensor_count;
  whole.tensor_bytes += status.tensor_bytes;
  whole.row_count += status.row_count;
  if (status.first_step >= 0 && (whole.first_step < 0 || status.first_step < whole.first_step))
    whole.first_step = status.first_step;
  whole.last_step = std::max(whole.last_step, status.last_step);
  whole.cut_step = std::max(whole.cut_step, status.cut_step);
}

// Files of two recordings that lie in the same directories: what the earlier one did not finish is not
// whole, and steps that both have cannot be distinguished.
void note_earlier(RecordingStatus& whole) {
  for (const EarlierRecording& earlier : whole.earlier) {
    if (earlier.state != "complete")
      whole.losses.push_back({"end of an earlier recording in the same folder",
                              earlier.state == "recording" ? "it was cut short" : "it is " + earlier.state, 1,
                              "run " + earlier.run_id});
    if (earlier.first_step >= 0 && earlier.first_step <= whole.last_step &&
        whole.first_step <= earlier.last_step)
      whole.losses.push_back({"steps of a single recording",
                              "two recordings were added to one folder, and both have them", 1,
                              "step " + std::to_string(std::max(earlier.first_step, whole.first_step))});
  }
}

}  // namespace

std::string status_file_name(std::string_view process, unsigned number) {
  if (process.empty() && number == 1) return std::string(kStatusFileName);
  std::string name = "opdump_status." + (process.empty() ? "main" : model::sanitise_name(process));
  if (number > 1) name += "-" + std::to_string(number);
  return name + ".json";
}

Result<> write_status(const std::filesystem::path& rank_directory, const RecordingStatus& status,
                      std::string_view name) {
  const std::filesystem::path path =
      rank_directory / (name.empty() ? status_file_name(status.process) : std::string(name));
  return write_file_atomic(path, encode_status(status), 0600);
}

std::string encode_status(const RecordingStatus& status) {
  nlohmann::ordered_json object{{"schema_version", kSchemaVersion}};
  for_each_field(status, [&](const char* key, const auto& field) { object[key] = field; });
  object["environment"] = status.environment;
  object["losses"] = json::array();
  for (const Loss& loss : status.losses)
    object["losses"].push_back(
        {{"what", loss.what}, {"reason", loss.reason}, {"count", loss.count}, {"first", loss.first}});
  object["warnings"] = status.warnings;
  object["earlier"] = json::array();
  for (const EarlierRecording& earlier : status.earlier) {
    nlohmann::ordered_json& item = object["earlier"].emplace_back();
    for_each_field(earlier, [&](const char* key, const auto& field) { item[key] = field; });
  }
  return json_text(object, 2) + "\n";
}

Result<RecordingStatus> read_status_file(const std::filesystem::path& path) {
  OPDUMP_TRY(std::string text, read_file(path, kMaxStatusBytes));
  auto document = JsonDocument::parse(path.string(), std::move(text));
  if (!document) return Error(Code::corrupt, document.error().message());
  const json& root = document->root();
  const auto wrong = [&](std::string_view key) {
    return Error(Code::corrupt, path.string() + ": " + std::string(key) + " is missing or of another type");
  };
  std::int64_t version = 0;
  if (!root.is_object() || !assign(root.value("schema_version", json()), version))
    return wrong("schema_version");
  if (version != kSchemaVersion)
    return Error(Code::unsupported,
                 path.string() + ": schema_version is " + std::to_string(version) + "; expected 1");
  RecordingStatus status;
  const char* failed = nullptr;
  const auto visit = [&](const char* key, auto& field) {
    const auto value = root.find(key);
    if (value == root.end() ? !may_be_absent(key) : !assign(*value, field)) failed = key;
  };
  for_each_field(status, visit);
  visit("environment", status.environment);
  visit("losses", status.losses);
  visit("warnings", status.warnings);
  visit("earlier", status.earlier);
  if (failed != nullptr) return wrong(failed);
  return status;
}

bool is_status_file_name(std::string_view name) {
  return name.starts_with("opdump_status.") && name.ends_with(".json");
}

std::vector<StatusFile> list_statuses(const std::filesystem::path& rank_directory) {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator entries(rank_directory, failed);
  for (; !failed && entries != std::filesystem::directory_iterator(); entries.increment(failed))
    if (std::string name = entries->path().filename().string(); is_status_file_name(name))
      names.push_back(std::move(name));
  std::ranges::sort(names, {}, [](const std::string& name) {
    return std::pair<bool, std::string_view>(name != kStatusFileName, name);
  });
  std::vector<StatusFile> statuses;
  for (std::string& name : names) {
    auto status = read_status_file(rank_directory / name);
    statuses.push_back({std::move(name), std::move(status)});
  }
  return statuses;
}

Result<RecordingStatus> read_status(const std::filesystem::path& rank_directory,
                                    const std::set<std::string>& times) {
  std::vector<StatusFile> files = list_statuses(rank_directory);
  if (files.empty())
    return Error(Code::not_found, (rank_directory / kStatusFileName).string() + ": there is none");
  const auto is_read = [&](const StatusFile& file) {
    return file.status && times.contains(file.status->time_directory);
  };
  if (const auto first = std::ranges::find_if(files, is_read); first != files.end())
    std::rotate(files.begin(), first, first + 1);
  if (!files.front().status) return files.front().status.take_error();
  RecordingStatus whole = std::move(*files.front().status);
  const auto is_elsewhere = [&](const StatusFile& file) {
    return !times.empty() && file.status && file.status->run_id != whole.run_id && !is_read(file) &&
           !file.status->time_directory.empty();
  };
  files.erase(std::remove_if(files.begin() + 1, files.end(), is_elsewhere), files.end());
  if (whole.state == "idle") whole.state = "complete";  // a worker's; the program itself records nothing
  for (const StatusFile& file : std::span(files).subspan(1)) add_process(whole, file);
  note_earlier(whole);
  if (whole.state == "complete" && !whole.losses.empty()) whole.state = "incomplete";
  return whole;
}

}  // namespace opdump::dump
