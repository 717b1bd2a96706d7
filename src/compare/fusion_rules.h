// Which operators of an offline model belong together, and what of the original model they are (cann.md 4.5).
// Operators with the same original operators form a group; the group is one entry ("Index") of the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compare/failure.h"
#include "compare/numbered_names.h"
#include "format/fusion_json.h"
#include "model/shape.h"

namespace opdump::compare {

struct RuleOp {
  int index = 0;  // of its group, in the result
  format::FusionOp op;
  bool is_filtered = false;  // lies between a quantisation and its inverse: not compared
};

// How the operators of a group relate to those of the original model.
enum class Relation : std::uint8_t { one_to_one, many_to_one, one_to_many, many_to_many, l1 };

struct RuleGroup {
  std::uint32_t key = 0;             // a number of FusionRules
  std::vector<std::size_t> members;  // of FusionRules::ops
};

// An output of the original model: where the ground truth of a tensor is.
struct OriginTensor {
  std::string name;
  std::int64_t index = 0;
  std::string format;               // "" if it is not told
  std::vector<std::int64_t> shape;  // of the original model; may be empty

  // What the dump file tells of the shape counts more than the rules, if it tells anything.
  void prefer_shape(const model::Shape& told);
};

class FusionRules {
 public:
  FusionRules() = default;
  explicit FusionRules(format::FusionFile file);

  const std::vector<RuleOp>& ops() const { return ops_; }
  const std::vector<RuleGroup>& groups() const { return groups_; }
  // Operators by "id", those of equal ids as they come in the file.
  const std::vector<std::size_t>& in_sequence() const { return in_sequence_; }
  // Names of the Data operators.
  const std::vector<std::string>& input_nodes() const { return input_nodes_; }

  // The operator called `name`, or nullptr.
  const RuleOp* find(std::string_view name) const;
  // The group of the operator `name`, or nullptr. An operator may be in a group that does not know it by
  // name: then find() gives nothing.
  const RuleGroup* find_group(std::string_view name) const;
  Relation relation_of(const RuleGroup& group) const;

  // Marks what is_filtered says. Operators that look like a quantisation and are none are told.
  void filter_quantised(Journal& journal);

 private:
  friend class RuleMerger;
  void add(format::FusionOp op);
  // The operator `name` is in the group of `key`, whose number is returned; that may not be there yet.
  std::uint32_t set_group(std::string_view name, std::string_view key);
  static std::string key_of(const format::FusionOp& op);
  static std::string key_of_originals(const format::FusionOp& op);  // whatever buffer it shares
  RuleGroup& group_at(std::uint32_t key);
  void complete_origins();
  void sort_sequence();

  std::vector<RuleOp> ops_;
  std::vector<RuleGroup> groups_;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  NumberedNames names_, keys_;               // of operators and of groups
  std::vector<std::uint32_t> key_of_name_;   // by the number of the name
  std::vector<std::uint32_t> group_of_key_;  // by the number of the key; kNone: there is no such group
  std::vector<std::size_t> in_sequence_;
  std::vector<std::string> input_nodes_;
};

// The rules of a quantised offline model against the original model: `quantised` leads from the model that
// was quantised to the original one (-q).
FusionRules merge_quantised(FusionRules offline, const FusionRules& quantised, Journal& journal);

// The rules of a model against the same model built without fusion (-cf).
FusionRules merge_unfused(const FusionRules& fused, const FusionRules& unfused, Journal& journal);

// An operator that has no part in the comparison of its group: one of several that several were made of, none
// of whose outputs the original model has.
bool is_inner(const format::FusionOp& op);

// What output `index` of `op` is in the original model. Failure: no_dump_file -- that is not told.
Outcome<OriginTensor> origin_of(const format::FusionOp& op, std::size_t index, Journal& journal);

// The output that input `index` of `op` comes from: "relu:0". Failures: out_of_bounds, json_content.
struct InputEdge {
  std::string name;
  std::size_t index = 0;
};
Outcome<InputEdge> input_edge(const format::FusionOp& op, std::size_t index, Journal& journal);

std::string join(const std::vector<std::string>& words, std::string_view separator);

}  // namespace opdump::compare
