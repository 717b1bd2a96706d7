#include "msaccucmp/judge/group_compare.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/concat.h"
#include "msaccucmp/judge/overflow.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/file_times.h"
#include "msaccucmp/shape_text.h"

namespace opdump::msaccucmp {
namespace {

using format::FusionOp;

constexpr std::array<std::string_view, 3> kInverseNames = {"_dequant_layer", "AscendDequant", "_dequant"};

// What such an operator reads is not in the original model.
bool undoes_quantisation(const FusionOp& op) {
  return op.type == "AscendDequant" ||
         std::ranges::any_of(kInverseNames, [&](std::string_view word) { return op.name.ends_with(word); });
}

std::string tensor_name(const FusionOp& op, bool is_input, std::size_t index) {
  return concat({op.name, is_input ? ":input:" : ":output:", std::to_string(index)});
}

class GroupComparer {
 public:
  GroupComparer(const GroupComparison& comparison, std::uint32_t group)
      : comparison_(comparison), members_(comparison.rules.group(group)), relation_(relation_of(members_)) {}

  GroupResult compare() {
    if (relation_ == Relation::one_to_one || relation_ == Relation::many_to_one)
      compare_single();
    else if (relation_ == Relation::l1)
      compare_l1();
    else
      compare_several(all());
    return std::move(result_);
  }

  GroupResult map() {
    for (const RuleOp& rule : members_) map_operator(rule);
    return std::move(result_);
  }

  GroupResult give_up(bool is_map, const std::string& why) {
    result_.status = Status::incomplete;
    log().error("[" + members_.front().op.name + "] " + why);
    if (is_map)
      for (const RuleOp& rule : members_) add_mapping(rule, "NaN", "NaN", "NaN");
    else
      add_failed(members_.front(), {why});
    return std::move(result_);
  }

 private:
  Log& log() { return result_.log; }
  const GroupComparison& comparison() const { return comparison_; }

  std::vector<const RuleOp*> all() const {
    std::vector<const RuleOp*> rules;
    for (const RuleOp& rule : members_) rules.push_back(&rule);
    return rules;
  }

  bool is_single() const { return relation_ == Relation::one_to_one || relation_ == Relation::many_to_one; }

  // The operators of both sides as the table names them.
  std::pair<std::string, std::string> names(const FusionOp& op) const {
    if (is_single()) {
      const std::string originals = join(op.original_names, ",");
      return {op.name, originals.empty() ? "*" : originals};
    }
    // The original sorts them by what they were, in the order in which that first comes.
    std::vector<std::string> originals;
    for (const RuleOp& rule : members_) {
      const std::string each = join(rule.op.original_names, ",");
      if (std::ranges::find(originals, each) == originals.end()) originals.push_back(each);
    }
    std::vector<std::string> mine;
    for (const std::string& each : originals)
      for (const RuleOp& rule : members_)
        if (join(rule.op.original_names, ",") == each) mine.push_back(rule.op.name);
    return {join(mine, ","), join(originals, ",")};
  }

  void add_row(const RuleOp& rule, ResultEntry entry) {
    const auto [mine, golden] = names(rule.op);
    const Row row = comparison_.columns.row(rule.index, rule.op.sequence, mine, golden, std::move(entry));
    log().info(concat({"[", rule.op.name, "] Result: ", join(row, " ")}));
    result_.rows.emplace_back(row);
  }

  void add_rows(const RuleOp& rule, std::vector<ResultEntry> entries) {
    if (entries.empty()) add_failed(rule, {});
    for (ResultEntry& entry : entries) add_row(rule, std::move(entry));
  }

  void add_failed(const RuleOp& rule, std::vector<std::string> messages) {
    ResultEntry entry;
    entry.op_type = rule.op.type;
    entry.values = comparison_.algorithms.failed_values();
    entry.messages = std::move(messages);
    add_row(rule, std::move(entry));
  }

  bool skips(const RuleOp& rule) {
    if (rule.is_filtered)
      log().info("[" + rule.op.name + "] This op is in a quant/dequant op pair. Skip the op.");
    return rule.is_filtered;
  }

  void compare_single() {
    const RuleOp& rule = members_.front();
    if (skips(rule)) return;
    auto entries = compare_operator(rule);
    if (!entries) {
      result_.status = entries.error().status;
      return add_failed(rule, {entries.error().message});
    }
    result_.is_matched = !entries->empty();
    add_rows(rule, std::move(*entries));
  }

  // The first and the last operator of those that share the first-level buffer: their files are whole.
  void compare_l1() {
    const std::vector<TimedOperator> sorted = by_time(comparison_, members_, log());
    if (sorted.empty()) {
      result_.status = Status::no_dump_file;
      return add_failed(members_.front(), {"The fusion operator list is empty"});
    }
    const RuleOp* first = sorted.front().rule;
    const RuleOp* last = sorted.back().rule;
    std::vector<const RuleOp*> rules;
    if (join(first->op.original_names, ",") != join(last->op.original_names, ",")) rules.push_back(first);
    rules.push_back(last);
    compare_several(rules);
  }

  void compare_several(const std::vector<const RuleOp*>& rules) {
    std::vector<std::string> messages;
    bool has_rows = false;
    for (const RuleOp* rule : rules) {
      if (skips(*rule)) continue;
      if (relation_ != Relation::l1 && is_inner(rule->op)) {
        messages.push_back("[" + rule->op.name +
                           "] The op is inner node for multi to multi relation.Skip the op.");
        log().warn(messages.back());
        continue;
      }
      auto entries = compare_operator(*rule);
      if (!entries) {
        result_.status = entries.error().status;
        messages.push_back(entries.error().message);
        if (result_.status == Status::no_dump_file) continue;
      }
      messages.clear();
      has_rows = result_.is_matched = true;
      add_rows(*rule, entries ? std::move(*entries) : std::vector<ResultEntry>());
    }
    if (!has_rows) add_failed(members_.front(), std::move(messages));
  }

  Outcome<std::vector<ResultEntry>> compare_operator(const RuleOp& rule) {
    const FusionOp& op = rule.op;
    log().info(concat({"[", op.name, "] Start to compare op \"", op.name, "\"."}));
    auto dumped = read_mine(op);
    if (!dumped) {
      Failure failure{dumped.error().status, no_dump_message(op)};
      log().warn(failure.message);
      return failure;
    }
    std::vector<ResultEntry> entries;
    if (!undoes_quantisation(op)) compare_side(rule, *dumped, true, entries);
    if (op.type != "AscendQuant") compare_side(rule, *dumped, false, entries);
    if (!dumped->is_whole && !entries.empty())
      entries.back().messages.emplace_back(
          "This is a FFTS+ mode dump data, The number of files does not match the number of thread");
    return entries;
  }

  Outcome<DumpedOperator> read_mine(const FusionOp& op) {
    std::optional<std::int64_t> output;
    if (comparison_.mine.kind() == DumpKind::quantised) output = 0;
    return read_operator(comparison_.mine, op.name, output, log());
  }

  void compare_side(const RuleOp& rule, const DumpedOperator& dumped, bool is_input,
                    std::vector<ResultEntry>& entries) {
    const std::vector<DumpedTensor>& tensors = is_input ? dumped.inputs : dumped.outputs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      entries.push_back(compare_tensor(rule, dumped.path, tensors[i], is_input, i));
      if (is_input && dumped.is_slice) take_from_producer(rule, i, entries.back());
    }
  }

  // A slice has read a part of its input only. What all slices have read is what the operator before wrote,
  // whose result stands for theirs, as in the original. There that operator must be one in slices as well;
  // one that is not is better than nothing. The dtypes stay those of the input.
  void take_from_producer(const RuleOp& rule, std::size_t index, ResultEntry& entry) {
    Log kept = std::exchange(log(), Log());  // what is said of the operator before, it says itself
    if (auto theirs = result_of_producer(rule, index, entry)) {
      entry.shape = std::move(theirs->shape);
      entry.overflow = std::move(theirs->overflow);
      entry.values = std::move(theirs->values);
      entry.messages = std::move(theirs->messages);
    }
    log() = std::move(kept);
  }

  std::optional<ResultEntry> result_of_producer(const RuleOp& rule, std::size_t index,
                                                const ResultEntry& entry) {
    const auto place = find_source(comparison_, rule, index, true, log());
    if (!place) return std::nullopt;
    const auto dumped = read_mine(place->rule.op);
    if (!dumped || place->index >= dumped->outputs.size()) return std::nullopt;
    const bool is_theirs = dumped->is_slice && !comparison_.columns.has_golden_address;
    if (!is_theirs && entry.is_compared) return std::nullopt;
    ResultEntry theirs =
        compare_tensor(place->rule, dumped->path, dumped->outputs[place->index], false, place->index);
    return is_theirs || theirs.is_compared ? std::optional(std::move(theirs)) : std::nullopt;
  }

  ResultEntry compare_tensor(const RuleOp& rule, const std::string& path, const DumpedTensor& tensor,
                             bool is_input, std::size_t index) {
    const FusionOp& op = rule.op;
    ResultEntry entry;
    entry.op_type = op.type;
    entry.tensor = tensor_name(op, is_input, index);
    entry.shape = shape_cell(tensor.shape);
    if (tensor.address != 0) entry.my_address = std::to_string(tensor.address);
    const auto failure = measure(rule, path, tensor, is_input, index, entry);
    entry.is_compared = !failure;
    if (failure) {
      entry.values = comparison_.algorithms.failed_values();
      entry.messages = {reason(*failure, op, entry.tensor)};
    }
    if (comparison_.columns.has_overflow) {
      entry.overflow = overflow_of(tensor);
      if (entry.overflow == "YES")
        log().warn(op.name + " operator " + (is_input ? "input:" : "output:") + std::to_string(index) +
                   " is overflow.");
    }
    return entry;
  }

  std::string reason(const Failure& failure, const FusionOp& op, const std::string& tensor) {
    std::string message = failure.message;
    if (failure.status == Status::no_dump_file) message = no_golden_message(op.name, tensor);
    if (failure.status == Status::fractal_nz) message = "[" + op.name + "] " + message;
    if (failure.status == Status::no_dump_file || failure.status == Status::fractal_nz) log().warn(message);
    return message;
  }

  // Fills in what comparing gives.
  std::optional<Failure> measure(const RuleOp& rule, const std::string& path, const DumpedTensor& tensor,
                                 bool is_input, std::size_t index, ResultEntry& entry) {
    auto origin = find_origin(comparison_, rule, index, is_input, log());
    if (!origin) return origin.error();
    auto golden = read_golden(comparison_, rule.op.name, std::move(*origin), log());
    if (!golden) return golden.error();
    golden->origin.prefer_shape(tensor.original_shape);
    const bool is_unchanged =
        comparison_.mine.kind() == DumpKind::quantised && comparison_.golden.kind() == DumpKind::original;
    auto pair = match_layouts(
        {rule.op.name, tensor, golden->tensor, golden->origin, false, is_unchanged, comparison_.plugin},
        log());
    if (!pair) return pair.error();
    const PairFacts facts{path, golden->path, is_scalar_shape(pair->shape)};
    auto results = comparison_.algorithms.measure(pair->mine, pair->golden, facts, comparison_.max_elements,
                                                  comparison_.threads, log());
    if (!results) return results.error();
    entry.shape = shape_cell(pair->shape);
    entry.my_dtype = pair->mine.numpy_name();
    entry.golden_dtype = pair->golden.numpy_name();
    entry.values = std::move(results->values);
    entry.messages = std::move(results->messages);
    return std::nullopt;
  }

  void add_mapping(const RuleOp& rule, const std::string& tensor, const std::string& mine,
                   const std::string& golden) {
    const auto [my_ops, golden_ops] = names(rule.op);
    Row row = {std::to_string(rule.index)};
    if (comparison_.columns.has_sequence) row.push_back(std::to_string(rule.op.sequence));
    row.insert(row.end(), {rule.op.type, my_ops, golden_ops, tensor, mine, golden});
    result_.rows.emplace_back(row);
  }

  void map_operator(const RuleOp& rule) {
    const FusionOp& op = rule.op;
    std::optional<std::int64_t> output;
    if (comparison_.mine.kind() == DumpKind::quantised) output = 0;
    const auto files = comparison_.mine.find(op.name, output);
    if (!files) {
      log().warn("[" + op.name + "] There is no left dump file for the op \"" + op.name + "\".");
      return add_mapping(rule, "NaN", "NaN", "NaN");
    }
    report_files(comparison_.mine, op.name, *files, log());
    const std::string& path = files->paths.back();
    const auto dumped = read_dumped_operator(path, log());
    if (!dumped) {
      log().error(path + " file parse error");
      return add_mapping(rule, "NaN", path, "NaN");
    }
    if (!undoes_quantisation(op)) map_side(rule, path, dumped->inputs.size(), true);
    if (op.type != "AscendQuant") map_side(rule, path, dumped->outputs.size(), false);
  }

  void map_side(const RuleOp& rule, const std::string& path, std::size_t count, bool is_input) {
    for (std::size_t i = 0; i < count; ++i)
      add_mapping(rule, tensor_name(rule.op, is_input, i), path, golden_path(rule, is_input, i));
  }

  std::string golden_path(const RuleOp& rule, bool is_input, std::size_t index) {
    if (const auto origin = find_origin(comparison_, rule, index, is_input, log())) {
      std::optional<std::int64_t> output;
      if (comparison_.golden.kind() != DumpKind::npu) output = origin->index;
      if (const auto files = comparison_.golden.find(origin->name, output)) {
        report_files(comparison_.golden, origin->name, *files, log());
        return files->paths.back();
      }
    }
    const std::string& op = rule.op.name;
    log().warn("[" + op + "] There is no right dump file for the op \"" + op + "\".");
    return "NaN";
  }

  const GroupComparison& comparison_;
  std::vector<RuleOp> members_;
  Relation relation_;
  GroupResult result_;
};

}  // namespace

GroupResult compare_group(const GroupComparison& comparison, std::uint32_t group) {
  return GroupComparer(comparison, group).compare();
}

GroupResult map_group(const GroupComparison& comparison, std::uint32_t group) {
  return GroupComparer(comparison, group).map();
}

GroupResult give_up_group(const GroupComparison& comparison, std::uint32_t group, bool is_map,
                          const std::string& why) {
  return GroupComparer(comparison, group).give_up(is_map, why);
}

std::vector<TimedOperator> by_time(const GroupComparison& comparison, std::span<const RuleOp> group,
                                   Log& log) {
  std::vector<TimedOperator> sorted;
  for (const RuleOp& rule : group)
    if (const auto files = comparison.mine.find(rule.op.name, std::nullopt)) {
      warn_of_times(*files, log);
      sorted.push_back({files->time_us, &rule});
    }
  std::ranges::stable_sort(sorted, {}, &TimedOperator::time_us);
  return sorted;
}

std::string no_dump_message(const FusionOp& op) {
  return "[" + op.name + "] There is no dump file for my output operator \"" + op.name + "\". The type is " +
         op.type + ".";
}

std::string no_golden_message(const std::string& op, const std::string& tensor) {
  return "[" + op + "] There is no the ground truth dump file for " + tensor + ".";
}

}  // namespace opdump::msaccucmp
