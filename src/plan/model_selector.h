// Which operators of which models a plan wants, the way CANN's acl.json says it (cann.md 1.2): rules for
// models, names as they are or as files spell them, single tensors left out. Operators that belong to no
// model are wanted or
// not as a whole. Without rules every operator of every model is wanted.
//
// Which rule is a model's: if one of the rules has no model, then the last such one, for all models; else the
// rule that has the name of the model's file, else the one that has the name inside it. Of several rules for
// one model the last one's operators count, but all the exclusions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/operator.h"

namespace opdump::plan {

// A tensor of an operator.
struct SlotPosition {
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
  bool operator==(const SlotPosition&) const = default;
};

// Tensors that are left out, of operators whose type or name is `name`.
struct Exclusion {
  std::string name;
  std::vector<SlotPosition> slots;
};

// From one operator to another in the order of execution, with both.
struct OperatorRange {
  std::string first, last;
};

struct ModelRule {
  std::string model;                        // empty: every model
  bool lists_operators = false;             // else `operators` says nothing
  std::vector<std::string> operators = {};  // names, or names of what they were made of
  std::vector<OperatorRange> ranges = {};
  std::vector<Exclusion> by_type = {}, by_name = {};
  std::vector<std::string> watched = {};  // names; looked at again after each of the operators
};

class ModelSelector {
 public:
  // Merges it with the rule for the same model, if there is one: see the top of this file.
  void add(ModelRule rule);

  // Every operator of every model, whatever the rules say.
  void select_all_models() { all_models_ = true; }
  // No operator of any model. Operators of no model: whether they are wanted.
  void select_no_models() { no_models_ = true; }
  void set_single_operators(bool wanted) { single_operators_ = wanted; }

  bool selects_all() const { return rules_.empty() && !no_models_ && single_operators_; }
  bool watches() const;
  std::span<const ModelRule> rules() const { return rules_; }
  bool selects_single_operators() const { return single_operators_; }
  bool selects_models() const { return !no_models_; }

  // A model's names; either may be empty.
  struct ModelNames {
    std::string name, file_name;
  };
  // Makes a model known before its operators are chosen.
  void define_model(std::int64_t graph_id, ModelNames names);
  // The name that the model's directory bears: that by which a rule chose it, else its file's, which CANN's
  // compiler gives a model too, else the one inside it.
  std::string_view directory_name(std::int64_t graph_id) const;

  struct Choice {
    bool wanted = false;
    bool watched = false;  // its outputs are looked at again...
    bool watches = false;  // ...after this operator
    std::vector<SlotPosition> excluded = {};
  };
  // Decides on an operator of the model `op.graph_id`. Called once for each, in the order of execution:
  // ranges are followed and hits are counted. Not thread-safe.
  Choice choose(const model::Operator& op);

  // Sentences for the user on rules that chose no model or no operator, with what he may have meant among
  // `names`, the names of all operators there were.
  std::vector<std::string> describe_unmatched(std::span<const std::string_view> names) const;

 private:
  const ModelRule* rule_of(std::int64_t graph_id) const;
  bool in_range(const ModelRule& rule, const model::Operator& op);
  bool names_operator(const ModelRule& rule, const model::Operator& op);

  std::vector<ModelRule> rules_;
  bool all_models_ = false, no_models_ = false, single_operators_ = true;
  std::map<std::int64_t, ModelNames> models_;
  std::map<std::pair<std::int64_t, const OperatorRange*>, bool> open_ranges_;
  std::set<std::string, std::less<>> hits_;  // of the models' and operators' names in the rules, those met
};

}  // namespace opdump::plan
