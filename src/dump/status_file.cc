#include "dump/status_file.h"

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "model/operator.h"

namespace opdump::dump {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;
constexpr std::uint64_t kMaxStatusBytes = 64 << 20;

// One list of the plain fields, for writing and for reading.
template <typename S, typename F>
void for_each_field(S& status, const F& visit) {
  visit("state", status.state);
  visit("process", status.process);
  visit("opdump_version", status.opdump_version);
  visit("runtime", status.runtime);
  visit("config_path", status.config_path);
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
  visit("cut_step", status.cut_step);
}

// What recordings of a process that knew less do not have.
bool may_be_absent(std::string_view key) { return key == "tail_step" || key == "cut_step"; }

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
bool assign(const json& value, std::vector<std::string>& field) {
  if (!value.is_array()) return false;
  for (const json& item : value)
    if (!assign(item, field.emplace_back())) return false;
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

std::filesystem::path status_path(const std::filesystem::path& rank_directory, std::string_view process) {
  if (process.empty()) return rank_directory / kStatusFileName;
  return rank_directory / ("opdump_status." + model::sanitise_name(process) + ".json");
}

Result<Status> read_status_file(const std::filesystem::path& path) {
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
  Status status;
  const char* failed = nullptr;
  const auto visit = [&](const char* key, auto& field) {
    const auto value = root.find(key);
    if (value == root.end() ? !may_be_absent(key) : !assign(*value, field)) failed = key;
  };
  for_each_field(status, visit);
  visit("losses", status.losses);
  visit("warnings", status.warnings);
  if (failed != nullptr) return wrong(failed);
  return status;
}

// What the recordings of other processes of the rank lost.
std::vector<Loss> losses_of_others(const std::filesystem::path& rank_directory) {
  std::vector<Loss> losses;
  std::error_code failed;
  std::filesystem::directory_iterator entries(rank_directory, failed);
  for (; !failed && entries != std::filesystem::directory_iterator(); entries.increment(failed)) {
    const std::string name = entries->path().filename().string();
    if (name == kStatusFileName || !name.starts_with("opdump_status.") || !name.ends_with(".json")) continue;
    const auto status = read_status_file(entries->path());
    if (!status) {
      losses.push_back({"recording of another process", status.error().message(), 1, name});
      continue;
    }
    losses.insert(losses.end(), status->losses.begin(), status->losses.end());
    if (status->state == "recording")
      losses.push_back({"end of the recording of " + status->process, "it was cut short", 1, name});
  }
  return losses;
}

}  // namespace

Result<> write_status(const std::filesystem::path& rank_directory, const Status& status) {
  nlohmann::ordered_json object{{"schema_version", kSchemaVersion}};
  for_each_field(status, [&](const char* key, const auto& field) { object[key] = field; });
  object["losses"] = json::array();
  for (const Loss& loss : status.losses)
    object["losses"].push_back(
        {{"what", loss.what}, {"reason", loss.reason}, {"count", loss.count}, {"first", loss.first}});
  object["warnings"] = status.warnings;
  const std::string text =
      object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  return write_file_atomic(status_path(rank_directory, status.process), text, 0600);
}

Result<Status> read_status(const std::filesystem::path& rank_directory) {
  OPDUMP_TRY(Status status, read_status_file(rank_directory / kStatusFileName));
  for (Loss& loss : losses_of_others(rank_directory)) {
    if (status.state == "complete") status.state = "incomplete";
    status.losses.push_back(std::move(loss));
  }
  return status;
}

}  // namespace opdump::dump
