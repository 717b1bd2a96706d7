// Two sets of fusion rules made one: -q and -cf of the original (cann.md 4.5).
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compare/fusion_rules.h"

namespace opdump::compare {

using format::FusionOp;
using format::FusionOutput;

class RuleMerger {
 public:
  RuleMerger(const FusionRules& other, Journal& journal) : other_(other), journal_(journal) {}

  FusionRules quantised(FusionRules offline) {
    FusionRules merged;
    merged.ops_ = std::move(offline.ops_);
    merged.in_sequence_ = std::move(offline.in_sequence_);
    merged.input_nodes_ = std::move(offline.input_nodes_);
    std::vector<std::vector<SharedOutput>> outputs(merged.ops_.size());
    for (const RuleGroup& group : offline.groups_)
      for (const std::size_t member : group.members) {
        FusionOp& op = merged.ops_[member].op;
        if (auto names = originals_of(op); !names.empty()) op.original_names = std::move(names);
        outputs[member] = outputs_of(op);
        RuleGroup& target = merged.group_at(merged.set_group(op.name, merged.key_of_originals(op)));
        merged.ops_[member].index = static_cast<int>(&target - merged.groups_.data());
        target.members.push_back(member);
      }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].empty()) continue;
      merged.ops_[i].op.outputs.clear();
      for (const SharedOutput& output : outputs[i]) merged.ops_[i].op.outputs.push_back(*output);
    }
    return merged;
  }

  FusionRules unfused(const FusionRules& fused) {
    for (const std::size_t i : other_.in_sequence())
      for (const std::string& origin : other_.ops()[i].op.original_names)
        unfused_by_origin_[origin] = other_.ops()[i].op.name;
    FusionRules merged;
    std::vector<bool> seen(fused.keys_.size());
    for (std::uint32_t name = fused.names_.size(); name-- > 0;) {
      const std::uint32_t key = fused.key_of_name_[name];
      if (seen[key]) continue;
      seen[key] = true;
      const std::uint32_t merged_key = merged.set_group(fused.names_.at(name), fused.keys_.at(key));
      const std::uint32_t group = fused.group_of_key_[key];
      if (group == FusionRules::kNone) continue;
      for (const std::size_t member : fused.groups_[group].members)
        add_unfused(merged, merged_key, fused.ops_[member]);
    }
    drop_empty_groups(merged);
    std::ranges::reverse(merged.in_sequence_);
    return merged;
  }

 private:
  // The original names that `op`'s names have in the other rules, each once.
  std::vector<std::string> originals_of(const FusionOp& op) const {
    std::vector<std::string> names;
    for (const std::string& name : op.original_names) {
      const RuleGroup* group = other_.find_group(name);
      if (group == nullptr) continue;
      for (const std::size_t member : group->members)
        for (const std::string& origin : other_.ops()[member].op.original_names)
          if (std::ranges::find(names, origin) == names.end()) names.push_back(origin);
    }
    return names;
  }

  // Operators that stand for the same output share it, as in the original: what the last of them tells of its
  // format counts for all.
  using SharedOutput = std::shared_ptr<FusionOutput>;

  std::vector<SharedOutput> outputs_of(const FusionOp& op) {
    std::vector<SharedOutput> outputs;
    for (const FusionOutput& output : op.outputs) {
      if (output.origin_name.empty()) continue;
      const RuleGroup* group = other_.find_group(output.origin_name);
      if (group == nullptr) {
        journal_.warn("The name \"" + output.origin_name + "\" is not in quant fusion rule.");
        continue;
      }
      for (const std::size_t member : group->members) add_outputs(output, member, outputs);
    }
    return outputs;
  }

  // The outputs of operator `member` that `output` stands for, in the format that `output` tells.
  void add_outputs(const FusionOutput& output, std::size_t member, std::vector<SharedOutput>& outputs) {
    const FusionOp& origin = other_.ops()[member].op;
    const auto add = [&](std::size_t index) {
      SharedOutput& shared = shared_[{member, index}];
      if (!shared) shared = std::make_shared<FusionOutput>(origin.outputs[index]);
      if (!output.origin_format.empty()) {
        shared->origin_format = output.origin_format;
        shared->origin_shape = output.origin_shape;
      }
      outputs.push_back(shared);
    };
    if (!output.origin_index) {
      for (std::size_t i = 0; i < origin.outputs.size(); ++i) add(i);
    } else if (origin.name == output.origin_name) {
      const auto index = static_cast<std::size_t>(*output.origin_index);
      if (index < origin.outputs.size())
        add(index);
      else
        outputs.push_back(std::make_shared<FusionOutput>());
    }
  }

  // Of operators that stand for the same first original operator, one is kept.
  bool is_new(const FusionOp& op) {
    const std::string& first = op.original_names.front();
    if (!seen_origins_.insert(first).second) return false;
    const auto found = unfused_by_origin_.find(first);
    return found == unfused_by_origin_.end() || seen_unfused_.insert(found->second).second;
  }

  void add_unfused(FusionRules& merged, std::uint32_t key, const RuleOp& rule) {
    if (!is_new(rule.op)) return;
    RuleOp made = rule;
    made.op.original_names = unfused_names(rule.op);
    for (std::size_t i = 0; i < made.op.outputs.size(); ++i) set_unfused_origin(made.op, i);
    merged.group_at(key).members.push_back(merged.ops_.size());
    merged.in_sequence_.push_back(merged.ops_.size());
    merged.ops_.push_back(std::move(made));
  }

  std::vector<std::string> unfused_names(const FusionOp& op) const {
    std::vector<std::string> names;
    if (op.original_names.size() == 1 && op.original_names[0].empty()) return {""};
    for (const std::string& origin : op.original_names) {
      const auto found = unfused_by_origin_.find(origin);
      if (found == unfused_by_origin_.end())
        journal_.warn("There is no original operator associated with the operator \"" + origin +
                      "\" in original op names.");
      else if (std::ranges::find(names, found->second) == names.end())
        names.push_back(found->second);
    }
    return names;
  }

  void set_unfused_origin(FusionOp& op, std::size_t index) const {
    FusionOutput& output = op.outputs[index];
    if (output.origin_name.empty()) return;
    const auto found = unfused_by_origin_.find(output.origin_name);
    if (found == unfused_by_origin_.end() || !set_unfused_index(output, found->second))
      journal_.warn("There is no valid output desc associated with \"" + op.name +
                    ":output:" + std::to_string(index) + "\".");
    if (found != unfused_by_origin_.end()) output.origin_name = found->second;
  }

  // The output of the unfused operator that is the same output of the original model.
  bool set_unfused_index(FusionOutput& output, const std::string& unfused) const {
    const RuleGroup* group = other_.find_group(unfused);
    if (group == nullptr) return false;
    for (const std::size_t member : group->members) {
      const std::vector<FusionOutput>& outputs = other_.ops()[member].op.outputs;
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i].origin_name == output.origin_name && outputs[i].origin_index == output.origin_index) {
          output.origin_index = static_cast<std::int64_t>(i);
          return true;
        }
    }
    return false;
  }

  static void drop_empty_groups(FusionRules& merged) {
    std::erase_if(merged.groups_, [](const RuleGroup& group) { return group.members.empty(); });
    std::ranges::fill(merged.group_of_key_, FusionRules::kNone);
    for (std::size_t i = 0; i < merged.groups_.size(); ++i)
      merged.group_of_key_[merged.groups_[i].key] = static_cast<std::uint32_t>(i);
  }

  const FusionRules& other_;
  Journal& journal_;
  std::map<std::pair<std::size_t, std::size_t>, SharedOutput> shared_;  // by operator and output
  std::unordered_map<std::string, std::string> unfused_by_origin_;
  std::set<std::string> seen_origins_, seen_unfused_;
};

FusionRules merge_quantised(FusionRules offline, const FusionRules& quantised, Journal& journal) {
  return RuleMerger(quantised, journal).quantised(std::move(offline));
}

FusionRules merge_unfused(const FusionRules& fused, const FusionRules& unfused, Journal& journal) {
  return RuleMerger(unfused, journal).unfused(fused);
}

}  // namespace opdump::compare
