#include "dump/read/dump_filter.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file/file.h"
#include "base/text/json.h"
#include "base/text/text.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kMaxConfigBytes = 16 << 20;
constexpr std::size_t kFewRuns =
    8;  // so many may all be without inputs, as those that make random numbers are

const json& member(const json& object, const char* key) {
  static const json kNone;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? kNone : *found;
}

bool is_number(const json& value, int number) { return value.is_number_integer() && value == number; }

// A list of kernels that is empty, or has empty texts only, selects all.
bool selects_kernels(const json& kernels) {
  if (!kernels.is_array()) return false;
  for (const json& kernel : kernels)
    if (!kernel.is_string() ||
        kernel.get_ref<const std::string&>().find_first_not_of("\" ") != std::string::npos)
      return true;
  return false;
}

void add(std::string& to, const std::string& what) { to.append(to.empty() ? "" : ", ").append(what); }

// Concludes what was left out from what no execution has.
DumpFilter conclude(const Runs& runs, std::uint64_t absent) {
  DumpFilter filter;
  bool has_inputs = false, has_outputs = false;
  std::size_t operators = 0;
  for (std::size_t i = 0; i < runs.size() && !(has_inputs && has_outputs); ++i) {
    if (runs.without_slots(i).type == "Parameter") continue;
    ++operators;
    for (const Slot& slot : runs.slots(i))
      (slot.side == model::Side::input ? has_inputs : has_outputs) |=
          slot.has_data() || !slot.undumped_reason.empty();
  }
  if (operators > kFewRuns && has_inputs != has_outputs) {
    filter.inputs = has_inputs;
    filter.outputs = has_outputs;
  }
  if (absent > 0) filter.operators = counted(absent, "operator") + " of the graphs absent";
  return filter;
}

}  // namespace

Result<DumpFilter> decode_filter(std::string_view config) {
  const json root = parse_json(config);
  if (!root.is_object()) return Error(Code::corrupt, "no configuration: it is not a JSON object");
  const json& common = member(root, "common_dump_settings");
  const json& own = member(root, "opdump_settings");
  DumpFilter filter;
  filter.inputs = !is_number(member(common, "input_output"), 2);
  filter.outputs = !is_number(member(common, "input_output"), 1);
  const json& kernels = member(common, "kernels");
  if (is_number(member(common, "dump_mode"), 1) && selects_kernels(kernels))
    add(filter.operators, "kernels " + json_text(kernels));
  if (is_number(member(common, "dump_mode"), 2)) add(filter.operators, "set_dump()");
  for (const int debug : {1, 2, 3, 4})
    if (is_number(member(common, "op_debug_mode"), debug))
      add(filter.operators, "op_debug_mode " + std::to_string(debug));
  for (const char* key : {"ops", "module"})
    if (const json& text = member(own, key); text.is_string())
      add(filter.operators, std::string(key) + " " + text.get<std::string>());
  return filter;
}

DumpFilter find_filter(const Runs& runs, const fs::path& root,
                       const std::map<std::uint32_t, fs::path>& rank_directories, std::uint64_t absent) {
  std::vector<fs::path> files{root / "opdump_config.json"};
  for (const auto& [rank, directory] : rank_directories) {
    files.push_back(directory.parent_path() / "opdump_config.json");
    files.push_back(directory / ".dump_metadata/data_dump.json");
  }
  for (const fs::path& file : files) {
    const auto text = read_file(file, kMaxConfigBytes);
    if (!text) continue;
    auto filter = decode_filter(*text);
    if (!filter) continue;
    filter->source = file;
    return std::move(*filter);
  }
  return conclude(runs, absent);
}

}  // namespace opdump::dump
