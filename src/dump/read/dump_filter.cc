#include "dump/read/dump_filter.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "dialect/mindspore_text.h"
#include "dump/read/graph_nodes.h"
#include "plan/op_selector.h"

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

// Makes it of the lists of kernels and of opdump's own section. Returns null if they cannot be read: nothing
// is certain then. `search`: see dialect::parse_kernel().
std::shared_ptr<const plan::OpSelector> make_selector(const json& kernels, const json& own, bool search) {
  auto selector = std::make_shared<plan::OpSelector>();
  for (const json& kernel : kernels) {
    const auto rule = dialect::parse_kernel(kernel, false, search);
    if (!rule || (*rule && !selector->add((*rule)->kind, (*rule)->text))) return nullptr;
  }
  for (const auto& [key, kind] :
       {std::pair("ops", plan::FilterKind::ops), std::pair("module", plan::FilterKind::module)})
    if (const json& text = member(own, key);
        text.is_string() && !selector->narrow(kind, text.get<std::string>()))
      return nullptr;
  return selector;
}

// The dump of an acl.json. Names of models choose in it, and names of the graph engine.
void read_acl(const json& dump, DumpFilter& filter, std::string& chosen) {
  if (!dump.is_object()) return;
  const json& mode = member(dump, "dump_mode");
  filter.inputs = mode == "input" || mode == "all";
  filter.outputs = mode != "input";
  const json& list = member(dump, "dump_list");
  const auto chooses = [](const json& item) { return item.is_object() && !item.empty(); };
  if (list.is_array() && std::ranges::any_of(list, chooses)) add(chosen, "dump_list " + json_text(list));
  if (const json& scene = member(dump, "dump_scene"); scene.is_string())
    add(chosen, "dump_scene " + scene.get<std::string>());
}

// Concludes what was left out from what no execution has.
DumpFilter conclude(const Runs& runs, const std::map<std::string, std::uint64_t>& absent) {
  DumpFilter filter;
  bool has_inputs = false, has_outputs = false;
  std::size_t operators = 0;
  filter.parameters = false;
  for (std::size_t i = 0; i < runs.size() && !(has_inputs && has_outputs && filter.parameters); ++i) {
    if (runs.without_slots(i).type == "Parameter") {
      filter.parameters = true;
      continue;
    }
    ++operators;
    for (const Slot& slot : runs.slots(i))
      (slot.side == model::Side::input ? has_inputs : has_outputs) |=
          slot.has_data() || !slot.undumped_reason.empty();
  }
  if (operators > kFewRuns && has_inputs != has_outputs) {
    filter.inputs = has_inputs;
    filter.outputs = has_outputs;
  }
  std::uint64_t count = 0;
  for (const auto& [kind, of_kind] : absent) {
    filter.absent.insert(kind);
    count += of_kind;
  }
  if (count > 0) filter.operators = counted(count, "operator") + " of the graphs absent";
  return filter;
}

}  // namespace

bool DumpFilter::may_lack(const OperatorRun& run) const {
  if (!parameters && leaves_out() && run.type == "Parameter") return true;
  if (operators.empty()) return false;
  const model::Operator* const op = run.op.get();
  const std::string& name = op != nullptr ? op->name : run.name;
  if (!absent.empty()) return absent.contains(kind_name(name));
  if (selector == nullptr) return true;
  if (selector->selects(name)) return false;
  // A dump without graphs has neither '/' in names nor where the type begins in them. Parameters have no
  // scope.
  const bool is_cut = run.op == nullptr && run.type != "Parameter";
  return !is_cut || !selector->selects("Default/" + run.type + "-op0");
}

Result<DumpFilter> decode_filter(std::string_view config) {
  const json root = parse_json(config);
  if (!root.is_object()) return Error(Code::corrupt, "no configuration: it is not a JSON object");
  const json& common = member(root, "common_dump_settings");
  const json& own = member(root, "opdump_settings");
  DumpFilter filter;
  filter.inputs = !is_number(member(common, "input_output"), 2);
  filter.outputs = !is_number(member(common, "input_output"), 1);
  static const json kNoKernels = json::array();
  const bool is_by_kernels =
      is_number(member(common, "dump_mode"), 1) && selects_kernels(member(common, "kernels"));
  const json& kernels = is_by_kernels ? member(common, "kernels") : kNoKernels;
  if (is_by_kernels) add(filter.operators, "kernels " + json_text(kernels));
  for (const char* key : {"ops", "module"})
    if (const json& text = member(own, key); text.is_string())
      add(filter.operators, std::string(key) + " " + text.get<std::string>());
  if (!filter.operators.empty())
    filter.selector = make_selector(kernels, own, !root.contains("e2e_dump_settings"));
  std::string chosen;  // by the program and its data
  if (is_number(member(common, "dump_mode"), 2)) add(chosen, "set_dump()");
  for (const int debug : {1, 2, 3, 4})
    if (is_number(member(common, "op_debug_mode"), debug))
      add(chosen, "op_debug_mode " + std::to_string(debug));
  read_acl(member(root, "dump"), filter, chosen);
  if (chosen.empty()) return filter;
  add(filter.operators, chosen);
  filter.selector = nullptr;
  return filter;
}

DumpFilter find_filter(const Runs& runs, const fs::path& root,
                       const std::map<std::uint32_t, fs::path>& rank_directories,
                       const std::map<std::uint32_t, RecordingStatus>& statuses,
                       const std::map<std::string, std::uint64_t>& absent) {
  for (const auto& [rank, status] : statuses) {
    auto filter = decode_filter(status.config_text);
    if (!filter) continue;
    filter->source = status.config_path;
    return std::move(*filter);
  }
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
