// Selects operators of models by the rules of CANN's acl.json (cann.md 1.2). A rule is for one model or for
// all. It has names, as in the program or as in file names, and may exclude single tensors.
// Operators outside models are selected all or not at all. Without rules, all operators of all models
// are selected.
//
// A rule may name operators of PyTorch as the graph engine would: "Add" is the first operator of a model that
// is called so there, "Add_1" the second.
//
// The rule of a model: if rules without a model exist, the last of them applies to all models. Otherwise the
// rule with the name of the model's file applies, or else the rule with the name inside the model. Of several
// rules for one model, the last one selects the operators, and the exclusions of all of them apply.
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

// Excluded tensors of operators whose type or name is `name`.
struct Exclusion {
  std::string name;
  std::vector<SlotPosition> slots;
};

// From one operator to another in the order of execution, both included.
struct OperatorRange {
  std::string first, last;
};

struct ModelRule {
  std::string model;                        // empty: every model
  bool lists_operators = false;             // else `operators` says nothing
  std::vector<std::string> operators = {};  // names, or names of operators that they replace
  std::vector<OperatorRange> ranges = {};
  std::vector<Exclusion> by_type = {}, by_name = {};
  std::vector<std::string> watched = {};  // names; checked again after each of the operators
};

class ModelSelector {
 public:
  // Merges it with the rule for the same model, if there is one: see the top of this file.
  void add(ModelRule rule);

  // Selects every operator of every model, whatever the rules are.
  void select_all_models() { all_models_ = true; }
  // Selects no operator of any model. For operators outside models: sets whether they are selected.
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
  // Registers a model before its operators are selected.
  void define_model(std::int64_t graph_id, ModelNames names);
  // The name of the model's directory: the name in the rule that selected it, else the name of its file,
  // else the name inside it.
  std::string_view directory_name(std::int64_t graph_id) const;

  struct Choice {
    bool wanted = false;
    bool watched = false;  // its outputs are checked again...
    bool watches = false;  // ...after this operator
    std::vector<SlotPosition> excluded = {};
  };
  // Decides on an operator of the model `op.graph_id`. Called once for each, in the order of execution:
  // ranges are followed and hits are counted. Not thread-safe.
  Choice choose(const model::Operator& op);

  // Sentences for the user about rules that selected no model or no operator, with similar names
  // among `names`, the names of all operators.
  std::vector<std::string> describe_unmatched(std::span<const std::string_view> names) const;

 private:
  const ModelRule* rule_of(std::int64_t graph_id) const;
  bool in_range(const ModelRule& rule, const model::Operator& op);
  bool names_operator(const ModelRule& rule, const model::Operator& op);
  bool numbers_operator(const ModelRule& rule, const model::Operator& op);

  std::vector<ModelRule> rules_;
  bool all_models_ = false, no_models_ = false, single_operators_ = true;
  std::map<std::int64_t, ModelNames> models_;
  std::map<std::pair<std::int64_t, const OperatorRange*>, bool> open_ranges_;
  std::map<std::pair<std::int64_t, std::string>, std::uint32_t> engine_counts_;  // by model and type
  std::set<std::string, std::less<>> hits_;  // names in the rules that were found
};

}  // namespace opdump::plan
