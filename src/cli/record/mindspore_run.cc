#include "cli/record/mindspore_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "dump/read/dump_set.h"
#include "dump/write/rank_tree.h"
#include "math/hash.h"
#include "math/stats/stats.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using plan::Content;
using plan::DebugMode;

// MindSpore takes letters, digits, '-', '_' and '/' in a path.
bool is_plain_path(const fs::path& path) {
  return std::ranges::all_of(path.native(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '/';
  });
}

// What its build for CPUs takes, with values in the place of variables and blanks.
std::string make_config(const plan::DumpPlan& plan, const fs::path& root) {
  ordered_json config = parse_ordered_json(plan.config_text);
  ordered_json& common = config["common_dump_settings"];
  common["path"] = root.string();
  common["iteration"] = plan.steps.format();
  common["saved_data"] = "tensor";
  if (plan.debug == DebugMode::overflow) {
    common["op_debug_mode"] = 0;
    common["input_output"] = 0;
  }
  const std::pair<const char*, ordered_json> defaults[] = {{"op_debug_mode", 0},
                                                           {"input_output", 0},
                                                           {"kernels", ordered_json::array()},
                                                           {"support_device", {0, 1, 2, 3, 4, 5, 6, 7}}};
  for (const auto& [key, value] : defaults)
    if (!common.contains(key)) common[key] = value;
  for (const char* key : {"statistic_category", "overflow_number"}) common.erase(key);
  config.erase("opdump_settings");
  config["e2e_dump_settings"] = {{"enable", true}, {"trans_flag", true}};
  return json_text(config, 2) + "\n";
}

bool overflows(const dump::Slot& slot) {
  if (slot.file.empty() || !model::is_floating(slot.dtype) || !math::has_statistics(slot.dtype)) return false;
  const auto tensor = dump::StoredTensor::read(slot);
  if (!tensor) return false;
  const math::Statistics found = math::finish(math::partial_stats(tensor->view(), {.extremes = true}));
  return !std::isfinite(found.max) || !std::isfinite(found.min);
}

bool has_overflow(const std::vector<dump::Slot>& slots, model::Side side) {
  return std::ranges::any_of(slots,
                             [&](const dump::Slot& slot) { return slot.side == side && overflows(slot); });
}

// Makes of MindSpore's files what the plan asks for.
class Completion {
 public:
  Completion(plan::DumpPlan& plan, const dump::DumpSet& set) : plan_(plan), set_(set) {
    if (plan.content == Content::tensor) return;
    for (const plan::Statistic statistic : plan.statistics)
      columns_.emplace_back(plan::statistic_table()[static_cast<std::size_t>(statistic)].column);
  }

  Result<> run() {
    for (std::size_t i = 0; i < set_.runs().size(); ++i) {
      const dump::OperatorRun run = set_.runs()[i];
      const bool is_wanted = wants(run);
      for (const dump::Slot& slot : run.slots) take(run, slot, is_wanted);
    }
    for (auto& [rank, writer] : writers_) OPDUMP_CHECK_OK(writer->flush());
    return remove();
  }

  void print() const {
    std::string text = "MindSpore dumped " + counted(tensors_, "tensor");
    if (rows_ > 0) text += ", and opdump " + counted(rows_, "row") + " of statistics";
    if (plan_.debug == DebugMode::overflow)
      text += " of " + counted(overflowing_, "operator") + " that overflowed";
    terminal::print_error(text + " to " + plan_.root.string());
  }

 private:
  bool wants(const dump::OperatorRun& run) {
    const std::string name = run.op != nullptr ? run.op->name : "Default/" + run.name;
    if (!plan_.operators.filters().empty() && !plan_.operators.wants(name)) return false;
    if (plan_.debug != DebugMode::overflow) return true;
    if (run.type == "Parameter" || (plan_.overflow_limit > 0 && overflowing_ == plan_.overflow_limit) ||
        !has_overflow(run.slots, model::Side::output) || has_overflow(run.slots, model::Side::input))
      return false;
    ++overflowing_;
    return true;
  }

  void take(const dump::OperatorRun& run, const dump::Slot& slot, bool is_wanted) {
    if (slot.file.empty()) return;
    if (is_wanted && plan_.content != Content::tensor)
      if (auto added = add_row(run, slot); !added) {  // its file stays
        terminal::print_error("no statistics: " + added.error().message());
        return;
      }
    if (is_wanted && plan_.content != Content::statistics)
      ++tensors_;
    else
      unwanted_.emplace_back(slot.file);
  }

  Result<> add_row(const dump::OperatorRun& run, const dump::Slot& slot) {
    if (!math::has_statistics(slot.dtype)) return ok();
    OPDUMP_TRY(const dump::StoredTensor tensor, dump::StoredTensor::read(slot));
    const model::TensorView& view = tensor.view();
    dump::StatisticRow row{.data_bytes = view.byte_count(), .dtype = slot.dtype, .shape = view.shape};
    row.values = math::finish(
        math::partial_stats(view, {.extremes = true, .sum = true, .squares = true, .counts = true}));
    if (wants_column("MD5")) row.md5 = math::md5_hex(view);
    if (wants_column("SHA1")) row.sha1 = math::sha1_hex(view);
    if (wants_column("XXH128")) row.xxh128 = math::xxh128_hex(view);
    OPDUMP_TRY(dump::SchemeWriter* const writer, writer_of(run.rank));
    const model::Operator op{.type = run.type,
                             .name = run.name,
                             .graph_id = run.graph_id,
                             .stream = run.stream,
                             .source_file = {}};
    ++rows_;
    return writer->write_statistics({.op = &op,
                                     .graph_id = run.graph_id,
                                     .step = run.step,
                                     .timestamp_us = slot.timestamp_us,
                                     .side = slot.side,
                                     .index = slot.index,
                                     .format = slot.format},
                                    row);
  }

  bool wants_column(std::string_view column) const {
    return std::ranges::find(columns_, column) != columns_.end();
  }

  Result<dump::SchemeWriter*> writer_of(std::uint32_t rank) {
    std::unique_ptr<dump::SchemeWriter>& writer = writers_[rank];
    if (!writer) {
      OPDUMP_TRY(writer, dump::open_rank_tree({plan_.root, plan_.net_name, rank, columns_}));
    }
    return writer.get();
  }

  Result<> remove() {
    std::set<fs::path> directories;
    std::error_code failed;
    for (const fs::path& file : unwanted_) {
      directories.insert(file.parent_path());
      if (!fs::remove(file, failed)) return io_error(file, "remove");
    }
    for (const fs::path& directory : directories) fs::remove(directory, failed);  // if it is empty
    return ok();
  }

  plan::DumpPlan& plan_;
  const dump::DumpSet& set_;
  std::vector<std::string> columns_;
  std::map<std::uint32_t, std::unique_ptr<dump::SchemeWriter>> writers_;  // by rank
  std::vector<fs::path> unwanted_;
  std::uint64_t tensors_ = 0, rows_ = 0, overflowing_ = 0;
};

}  // namespace

Result<MindsporeRun> MindsporeRun::begin(const plan::DumpPlan& plan, const fs::path& folder) {
  MindsporeRun run;
  if (plan.dialect != "mindspore" || plan.is_empty) return run;
  // Few programs import MindSpore: the others need no folder.
  if (folder.empty() || ::mkdir(folder.c_str(), 0700) != 0) return run;
  run.folder_ = folder;
  std::error_code failed;
  fs::path root = plan.root;
  if (!is_plain_path(root)) {
    root = run.folder_ / "dump";
    fs::create_directory_symlink(plan.root, root, failed);
    if (failed) return Error(Code::io, root.string() + ": " + failed.message());
  }
  const fs::path config = run.folder_ / "data_dump.json";
  OPDUMP_CHECK_OK(write_file_atomic(config, make_config(plan, root), 0600));
  ::setenv("OPDUMP_MINDSPORE_CONFIG", config.c_str(), 1);
  return run;
}

MindsporeRun::~MindsporeRun() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<> MindsporeRun::finish(plan::DumpPlan& plan, bool has_failed) {
  auto set = dump::DumpSet::open(plan.root);
  if (set ? set->runs().size() == 0 : set.error().code() == Code::not_found) {
    terminal::print_error("nothing was dumped: MindSpore wrote no files to " + plan.root.string() +
                          (has_failed ? "" : "; it dumps programs in GRAPH_MODE"));
    return ok();
  }
  if (!set) return set.take_error();
  Completion completion(plan, *set);
  OPDUMP_CHECK_OK(completion.run());
  completion.print();
  return ok();
}

}  // namespace opdump::cli
