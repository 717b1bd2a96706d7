// Which operators of an offline model belong together, and what of the original model they are (cann.md 4.5).
// Operators with the same original operators form a group; the group is one entry ("Index") of the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text/text_arena.h"
#include "format/graphs/fusion_json.h"
#include "model/shape.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

struct RuleOp {
  std::uint32_t number = 0;  // of FusionRules
  int index = 0;             // of its group, in the result
  format::FusionOp op;
  bool is_filtered = false;  // lies between a quantisation and its inverse: not compared
};

// How the operators of a group relate to those of the original model.
enum class Relation : std::uint8_t { one_to_one, many_to_one, one_to_many, many_to_many, l1 };

// An output of the original model: where the ground truth of a tensor is.
struct OriginTensor {
  std::string name;
  std::int64_t index = 0;
  std::string format;               // "" if it is not stated
  std::vector<std::int64_t> shape;  // of the original model; may be empty

  // The shape of the dump file counts more than that of the rules, if it has one.
  void prefer_shape(const model::Shape& stated);
};

// There may be millions of operators: they are packed, and unpacked when they are asked for, by several
// threads at once. Operators and groups are numbers.
class FusionRules {
 public:
  // Adds the operators of a file in their order, graph after graph. Error: limit -- too many.
  Result<> add(std::size_t graph, format::FusionOp op);
  // To be called when all are there, once and before all that follows.
  void finish();

  std::uint32_t op_count() const { return static_cast<std::uint32_t>(ops_.size()); }
  RuleOp op(std::uint32_t number) const;
  std::string_view name_of(std::uint32_t op) const { return texts_[ops_[op].name]; }
  std::int64_t sequence_of(std::uint32_t op) const;  // its "id"
  // Operator `i` of all by "id", those of equal ids as they come in the file.
  std::uint32_t in_sequence(std::size_t i) const { return in_sequence_[i]; }

  std::uint32_t group_count() const { return static_cast<std::uint32_t>(groups_.size()); }
  std::vector<RuleOp> group(std::uint32_t number) const;          // its operators
  std::vector<std::uint32_t> members(std::uint32_t group) const;  // the same, by number

  // Names of the Data operators.
  const std::vector<std::string>& input_nodes() const { return input_nodes_; }

  // The operator called `name`.
  std::optional<RuleOp> find(std::string_view name) const;
  // The group of the operator `name`. An operator may be in a group that does not know it by name: then
  // find() gives nothing.
  std::optional<std::uint32_t> find_group(std::string_view name) const;

  // Marks what is_filtered says. Operators that look like a quantisation and are none are stated.
  void filter_quantised(Log& log);

 private:
  friend class QuantisedMerger;
  friend class UnfusedMerger;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Op {
    ArenaText packed = nullptr;  // all of it but the name
    std::uint32_t name = 0;      // in texts_
    std::uint32_t index = 0;     // RuleOp::index
    std::uint32_t next = kNone;  // of its group
    bool is_filtered = false;
    bool has_only_origin = false;  // outputs without an origin are those of its only original operator
  };
  struct Members {
    std::uint32_t first = kNone, last = kNone;  // of its operators
  };
  // A name of an operator, the key of a group, or both.
  struct Text {
    std::uint32_t key = kNone;    // of the operator's group, which may not be there; in texts_
    std::uint32_t group = kNone;  // that has this key
  };

  static std::string key_of(const format::FusionOp& op);
  static std::string key_of_originals(const format::FusionOp& op);  // whatever buffer it shares
  std::uint32_t add_text(std::string_view text);
  // The operator `name` is in the group of `key`, which may not be there yet. Both are in texts_.
  void set_key(std::uint32_t name, std::uint32_t key);
  std::uint32_t group_at(std::uint32_t key);
  void put_into(std::uint32_t group, std::uint32_t op);  // at the end
  bool holds(std::uint32_t group, std::uint32_t name) const;
  std::uint32_t add_op(std::uint32_t name, std::uint32_t index, const format::FusionOp& op);
  void pack(std::uint32_t number, const format::FusionOp& op);
  void complete_origins();

  std::vector<Op> ops_;
  std::vector<Members> groups_;
  InternedTexts texts_;
  std::vector<Text> text_facts_;      // by number
  std::vector<std::uint32_t> names_;  // of operators, in texts_, in the order in which they first came
  TextArena packed_;
  std::vector<std::uint32_t> in_sequence_;
  std::vector<std::string> input_nodes_;
  std::size_t graph_ = 0;  // of the operator that was added last
};

Relation relation_of(std::span<const RuleOp> group);

// The rules of a quantised offline model against the original model: `quantised` leads from the model that
// was quantised to the original one (-q).
FusionRules merge_quantised(FusionRules offline, const FusionRules& quantised, Log& log);

// The rules of a model against the same model built without fusion (-cf).
FusionRules merge_unfused(const FusionRules& fused, const FusionRules& unfused, Log& log);

// An operator that has no part in the comparison of its group: one of several that several were made of, none
// of whose outputs the original model has.
bool is_inner(const format::FusionOp& op);

// Where the output that rules call `index` is among `count`: a negative one counts from the end, as in
// Python. `count` or more if there is none.
std::size_t place_of(std::int64_t index, std::size_t count);

// What output `index` of `op` is in the original model. Failure: no_dump_file -- that is not stated.
Outcome<OriginTensor> origin_of(const format::FusionOp& op, std::size_t index, Log& log);

// The output that input `index` of `op` comes from: "relu:0". Failures: out_of_bounds, json_content.
struct InputEdge {
  std::string name;
  std::size_t index = 0;
};
Outcome<InputEdge> input_edge(const format::FusionOp& op, std::size_t index, Log& log);

std::string join(const std::vector<std::string>& words, std::string_view separator);

}  // namespace opdump::msaccucmp
