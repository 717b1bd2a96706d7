// Two sets of fusion rules made one: -q and -cf of the original (cann.md 4.5).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text/packing.h"
#include "msaccucmp/judge/fusion_rules.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

using format::FusionOp;
using format::FusionOutput;

// Changes the rules of the quantised model.
class QuantisedMerger {
 public:
  QuantisedMerger(FusionRules& rules, const FusionRules& other, Log& log)
      : rules_(rules), other_(other), log_(log) {}

  void merge() {
    number_outputs();
    for (std::uint32_t group = 0; group < rules_.group_count(); ++group)
      for (const RuleOp& rule : rules_.group(group)) note_formats(rule.op);
    const auto old_groups = std::exchange(rules_.groups_, {});
    for (std::uint32_t text = 0; text < rules_.texts_.size(); ++text) rules_.text_facts_[text] = {};
    rules_.names_ = {};
    for (std::size_t group = 0; group < old_groups.size(); ++group)
      for (std::uint32_t op = old_groups[group].first; op != FusionRules::kNone;) {
        const std::uint32_t next = rules_.ops_[op].next;
        change(op);
        op = next;
      }
  }

 private:
  void number_outputs() {
    std::uint32_t count = 0;
    for (std::uint32_t op = 0; op < other_.op_count(); ++op) {
      first_output_.push_back(count);
      count += static_cast<std::uint32_t>(other_.op(op).op.outputs.size());
    }
    formats_.resize(count);
  }

  void change(std::uint32_t number) {
    FusionOp op = rules_.op(number).op;
    if (auto names = originals_of(op); !names.empty()) op.original_names = std::move(names);
    if (auto outputs = outputs_of(op); !outputs.empty()) op.outputs = std::move(outputs);
    rules_.pack(number, op);
    const std::uint32_t key = rules_.add_text(FusionRules::key_of_originals(op));
    rules_.set_key(rules_.ops_[number].name, key);
    const std::uint32_t group = rules_.group_at(key);
    rules_.ops_[number].index = group;
    rules_.put_into(group, number);
  }

  // The original names that `op`'s names have in the other rules, each once.
  std::vector<std::string> originals_of(const FusionOp& op) const {
    std::vector<std::string> names;
    for (const std::string& name : op.original_names) {
      const auto group = other_.find_group(name);
      if (!group) continue;
      for (const RuleOp& rule : other_.group(*group))
        for (const std::string& origin : rule.op.original_names)
          if (std::ranges::find(names, origin) == names.end()) names.push_back(origin);
    }
    return names;
  }

  // Calls take(rule, index) for the outputs in the other rules that `output` stands for; an index may be
  // beyond those that the operator has. False if there is no such operator.
  template <typename Take>
  bool visit_origins(const FusionOutput& output, const Take& take) const {
    const auto group = other_.find_group(output.origin_name);
    if (!group) return false;
    for (const std::uint32_t member : other_.members(*group)) {
      if (output.origin_index && other_.name_of(member) != output.origin_name) continue;
      const RuleOp rule = other_.op(member);
      if (output.origin_index)
        take(rule, place_of(*output.origin_index, rule.op.outputs.size()));
      else
        for (std::size_t i = 0; i < rule.op.outputs.size(); ++i) take(rule, i);
    }
    return true;
  }

  // Operators that stand for the same output share it, as in the original: the format that
  // the last of them states counts for all.
  void note_formats(const FusionOp& op) {
    for (const FusionOutput& output : op.outputs) {
      if (output.origin_name.empty() || output.origin_format.empty()) continue;
      const ArenaText format = format_texts_.add(packed_format(output));
      visit_origins(output, [&](const RuleOp& rule, std::size_t index) {
        if (index < rule.op.outputs.size()) formats_[first_output_[rule.number] + index] = format;
      });
    }
  }

  std::vector<FusionOutput> outputs_of(const FusionOp& op) const {
    std::vector<FusionOutput> outputs;
    for (const FusionOutput& output : op.outputs) {
      if (output.origin_name.empty()) continue;
      const bool is_known = visit_origins(output, [&](const RuleOp& rule, std::size_t index) {
        outputs.push_back(index < rule.op.outputs.size() ? shared_output(rule, index) : FusionOutput());
      });
      if (!is_known) log_.warn("The name \"" + output.origin_name + "\" is not in quant fusion rule.");
    }
    return outputs;
  }

  FusionOutput shared_output(const RuleOp& rule, std::size_t index) const {
    FusionOutput output = rule.op.outputs[index];
    const ArenaText format = formats_[first_output_[rule.number] + index];
    if (format != nullptr) set_format(TextArena::view(format), output);
    return output;
  }

  static std::string packed_format(const FusionOutput& output) {
    std::string bytes;
    Packer out(bytes);
    out.text(output.origin_format);
    for (const std::int64_t extent : output.origin_shape) out.signed_number(extent);
    return bytes;
  }

  static void set_format(std::string_view packed, FusionOutput& output) {
    Unpacker in(packed);
    output.origin_format = in.text();
    output.origin_shape.clear();
    while (!in.is_empty()) output.origin_shape.push_back(in.signed_number());
  }

  FusionRules& rules_;
  const FusionRules& other_;
  Log& log_;
  std::vector<std::uint32_t> first_output_;  // of each operator of other_, by number
  std::vector<ArenaText> formats_;           // of each output: packed_format(); null if none is stated
  TextArena format_texts_;
};

class UnfusedMerger {
 public:
  UnfusedMerger(const FusionRules& fused, const FusionRules& other, Log& log)
      : fused_(fused), other_(other), log_(log), seen_unfused_(other.texts_.size()) {}

  FusionRules merge() {
    note_origins();
    std::vector<bool> seen(fused_.texts_.size());
    for (std::size_t i = fused_.names_.size(); i-- > 0;) {
      const std::uint32_t name = fused_.names_[i], key = fused_.text_facts_[name].key;
      if (seen[key]) continue;
      seen[key] = true;
      const std::uint32_t merged_name = merged_.add_text(fused_.texts_[name]);
      const std::uint32_t merged_key = merged_.add_text(fused_.texts_[key]);
      merged_.set_key(merged_name, merged_key);
      const std::uint32_t group = fused_.text_facts_[key].group;
      if (group == FusionRules::kNone) continue;
      for (const RuleOp& rule : fused_.group(group)) add(merged_key, rule);
    }
    for (std::uint32_t i = merged_.op_count(); i-- > 0;) merged_.in_sequence_.push_back(i);
    return std::move(merged_);
  }

 private:
  struct Origin {                                // an original operator
    std::uint32_t unfused = FusionRules::kNone;  // the last operator of other_ that is made of it
    bool is_seen = false;
  };

  std::uint32_t add_origin(std::string_view name) {
    const std::uint32_t number = origins_.add(name);
    origin_facts_.resize(origins_.size());
    return number;
  }

  void note_origins() {
    for (std::uint32_t i = 0; i < other_.op_count(); ++i)
      for (const std::string& origin : other_.op(other_.in_sequence(i)).op.original_names) {
        const std::uint32_t number = add_origin(origin);
        origin_facts_[number].unfused = other_.in_sequence(i);
      }
  }

  // The unfused operator that is made of an original one, or kNone.
  std::uint32_t unfused_of(std::string_view origin) const {
    const auto number = origins_.find(origin);
    return number ? origin_facts_[*number].unfused : FusionRules::kNone;
  }

  // Of operators that stand for the same first original operator, one is kept.
  bool is_new(const FusionOp& op) {
    const std::uint32_t number = add_origin(op.original_names.front());
    if (std::exchange(origin_facts_[number].is_seen, true)) return false;
    const std::uint32_t unfused = origin_facts_[number].unfused;
    if (unfused == FusionRules::kNone) return true;
    const std::uint32_t name = other_.ops_[unfused].name;
    if (seen_unfused_[name]) return false;
    seen_unfused_[name] = true;
    return true;
  }

  void add(std::uint32_t key, const RuleOp& rule) {
    if (!is_new(rule.op)) return;
    FusionOp op = rule.op;
    op.original_names = unfused_names(rule.op);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) set_unfused_origin(op, i);
    const std::uint32_t group = merged_.group_at(key);
    const std::uint32_t name = merged_.add_text(op.name);
    const std::uint32_t number = merged_.add_op(name, static_cast<std::uint32_t>(rule.index), op);
    merged_.ops_[number].is_filtered = rule.is_filtered;
    merged_.put_into(group, number);
  }

  std::vector<std::string> unfused_names(const FusionOp& op) const {
    std::vector<std::string> names;
    if (op.original_names.size() == 1 && op.original_names[0].empty()) return {""};
    for (const std::string& origin : op.original_names) {
      const std::uint32_t unfused = unfused_of(origin);
      if (unfused == FusionRules::kNone)
        log_.warn("There is no original operator associated with the operator \"" + origin +
                  "\" in original op names.");
      else if (std::ranges::find(names, other_.name_of(unfused)) == names.end())
        names.emplace_back(other_.name_of(unfused));
    }
    return names;
  }

  void set_unfused_origin(FusionOp& op, std::size_t index) const {
    FusionOutput& output = op.outputs[index];
    if (output.origin_name.empty()) return;
    const std::uint32_t unfused = unfused_of(output.origin_name);
    const bool is_known = unfused != FusionRules::kNone;
    if (!is_known || !set_unfused_index(output, other_.name_of(unfused)))
      log_.warn("There is no valid output desc associated with \"" + op.name +
                ":output:" + std::to_string(index) + "\".");
    if (is_known) output.origin_name = other_.name_of(unfused);
  }

  // The output of the unfused operator that is the same output of the original model.
  bool set_unfused_index(FusionOutput& output, std::string_view unfused) const {
    const auto group = other_.find_group(unfused);
    if (!group) return false;
    for (const RuleOp& rule : other_.group(*group)) {
      const std::vector<FusionOutput>& outputs = rule.op.outputs;
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i].origin_name == output.origin_name && outputs[i].origin_index == output.origin_index) {
          output.origin_index = static_cast<std::int64_t>(i);
          return true;
        }
    }
    return false;
  }

  const FusionRules& fused_;
  const FusionRules& other_;
  Log& log_;
  FusionRules merged_;
  InternedTexts origins_;
  std::vector<Origin> origin_facts_;  // by number
  std::vector<bool> seen_unfused_;    // by the number of the operator's name in other_
};

FusionRules merge_quantised(FusionRules offline, const FusionRules& quantised, Log& log) {
  QuantisedMerger(offline, quantised, log).merge();
  return offline;
}

FusionRules merge_unfused(const FusionRules& fused, const FusionRules& unfused, Log& log) {
  return UnfusedMerger(fused, unfused, log).merge();
}

}  // namespace opdump::msaccucmp
