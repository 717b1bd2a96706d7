#include "plan/model_selector.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>

#include "base/text/text.h"
#include "plan/nearest.h"
#include "plan/type_names.h"

namespace opdump::plan {
namespace {

bool holds(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

constexpr std::string_view kCall = "StatefulPartitionedCall/";  // of a function of TensorFlow

// What a user may write for an operator: its name, that of its files, and both without "-", which some front
// ends do not allow in a list of names; and those of a function of TensorFlow with and without its call.
std::vector<std::string> spellings(const std::string& name) {
  const std::string other =
      name.starts_with(kCall) ? name.substr(kCall.size()) : std::string(kCall).append(name);
  std::vector<std::string> texts{name, model::sanitise_name(name), other, model::sanitise_name(other)};
  if (name.find('-') == std::string::npos) return texts;
  for (std::size_t i = 0; i < 2; ++i) {
    texts.push_back(texts[i]);
    std::ranges::replace(texts.back(), '-', '_');
  }
  return texts;
}

// "Add_1": a type and which of its operators; "Add" is the first.
struct EngineName {
  std::string type;
  std::uint64_t number = 0;
};

std::optional<EngineName> parse_engine_name(std::string_view text) {
  EngineName name;
  const std::size_t end = text.rfind('_');
  if (const auto number = end == std::string_view::npos ? std::nullopt : parse_uint64(text.substr(end + 1))) {
    name.number = *number;
    text = text.substr(0, end);
  }
  const auto is_of_type = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (text.empty() || text[0] < 'A' || text[0] > 'Z' || !std::ranges::all_of(text, is_of_type))
    return std::nullopt;
  name.type = text;
  return name;
}

// The type in "Default/fc-Linear/addmm-op0"; empty in names that operators of other frameworks have.
std::string_view type_in_name(std::string_view name) {
  const std::size_t number = name.rfind("-op");
  if (number == std::string_view::npos || !is_digits(name.substr(number + 3))) return {};
  name = name.substr(0, number);
  return name.substr(name.rfind('/') + 1);
}

// The operators that the graph engine would call so, or names that look like it.
std::string nearest_of_engine(const EngineName& name, std::span<const std::string_view> names) {
  std::vector<std::string_view> types, likely;
  for (const std::string_view other : names)
    if (const std::string_view type = type_in_name(other); !type.empty()) {
      if (is_engine_type(type, name.type)) likely.push_back(other);
      types.push_back(type);
    }
  if (!likely.empty()) {
    likely.resize(std::min<std::size_t>(likely.size(), 3));
    return "; nearest: " + join_or(likely);
  }
  const auto similar = find_similar(to_lower(name.type), types, 1);
  if (similar.empty()) return "";
  for (const std::string_view other : names)
    if (type_in_name(other) == similar[0]) return "; nearest: " + std::string(other);
  return "";
}

void add_slots(const std::vector<Exclusion>& exclusions, std::string_view name,
               std::vector<SlotPosition>& slots) {
  for (const Exclusion& exclusion : exclusions)
    if (exclusion.name == name)
      std::ranges::copy_if(exclusion.slots, std::back_inserter(slots),
                           [&](SlotPosition slot) { return std::ranges::find(slots, slot) == slots.end(); });
}

}  // namespace

void ModelSelector::add(ModelRule rule) {
  const auto known = std::ranges::find(rules_, rule.model, &ModelRule::model);
  if (known == rules_.end()) {
    rules_.push_back(std::move(rule));
    return;
  }
  rule.by_type.insert(rule.by_type.begin(), known->by_type.begin(), known->by_type.end());
  rule.by_name.insert(rule.by_name.begin(), known->by_name.begin(), known->by_name.end());
  *known = std::move(rule);
}

bool ModelSelector::watches() const {
  return std::ranges::any_of(rules_, [](const ModelRule& rule) { return !rule.watched.empty(); });
}

void ModelSelector::define_model(std::int64_t graph_id, ModelNames names) {
  models_.insert_or_assign(graph_id, std::move(names));
}

const ModelRule* ModelSelector::rule_of(std::int64_t graph_id) const {
  const auto find = [this](std::string_view model) {
    const auto found = std::ranges::find(rules_, model, &ModelRule::model);
    return found == rules_.end() ? nullptr : &*found;
  };
  if (const ModelRule* rule = find("")) return rule;
  const auto names = models_.find(graph_id);
  if (names == models_.end()) return nullptr;
  const auto& [name, file_name] = names->second;
  const ModelRule* rule = file_name.empty() ? nullptr : find(file_name);
  return rule || name.empty() ? rule : find(name);
}

std::string_view ModelSelector::directory_name(std::int64_t graph_id) const {
  const auto names = models_.find(graph_id);
  if (names == models_.end()) return {};
  const auto& [name, file_name] = names->second;
  const ModelRule* rule = all_models_ ? nullptr : rule_of(graph_id);
  const bool by_name = rule && !rule->model.empty() && rule->model != file_name;
  return by_name || file_name.empty() ? name : file_name;
}

ModelSelector::Choice ModelSelector::choose(const model::Operator& op) {
  if (rules_.empty() && !no_models_ && single_operators_) return {.wanted = true};
  const bool has_model = op.graph_id != model::kAnyGraph || models_.contains(model::kAnyGraph);
  if (!has_model && !single_operators_) return {};
  if (has_model && no_models_) return {};
  if (all_models_ || rules_.empty()) return {.wanted = true};
  const ModelRule* rule = rule_of(op.graph_id);
  if (!rule) return {.wanted = !has_model && !watches()};
  hits_.insert(rule->model);
  const bool listed = names_operator(*rule, op), ranged = in_range(*rule, op);
  Choice choice;
  if (rule->watched.empty()) {
    choice.wanted = ranged || (rule->lists_operators ? listed : rule->ranges.empty());
  } else {
    choice.wanted = choice.watched = holds(rule->watched, op.name);
    if (choice.watched) hits_.insert(op.name);
    choice.watches = !choice.watched && !op.type.starts_with("Hcom") && (listed || !rule->lists_operators);
  }
  if (!choice.wanted) return choice;
  add_slots(rule->by_type, op.type, choice.excluded);
  add_slots(rule->by_name, op.name, choice.excluded);
  return choice;
}

bool ModelSelector::names_operator(const ModelRule& rule, const model::Operator& op) {
  bool found = false;
  for (const std::string& spelling : spellings(op.name)) {
    if (found || !holds(rule.operators, spelling)) continue;
    hits_.insert(spelling);
    found = true;
  }
  found |= numbers_operator(rule, op);
  if (!op.original_names) return found;
  for (const std::string& original : *op.original_names) {
    if (!holds(rule.operators, original)) continue;
    hits_.insert(original);
    found = true;
  }
  return found;
}

// The graph engine numbers the operators of a type in the order in which they come.
bool ModelSelector::numbers_operator(const ModelRule& rule, const model::Operator& op) {
  if (type_in_name(op.name).empty()) return false;
  std::map<std::string, std::uint32_t> numbers;  // of this operator, by type
  bool found = false;
  for (const std::string& text : rule.operators) {
    const auto name = parse_engine_name(text);
    if (!name || !is_engine_type(op.type, name->type)) continue;
    const auto [number, is_new] = numbers.try_emplace(name->type);
    if (is_new) number->second = engine_counts_[{op.graph_id, name->type}]++;
    if (number->second != name->number) continue;
    hits_.insert(text);
    found = true;
  }
  return found;
}

bool ModelSelector::in_range(const ModelRule& rule, const model::Operator& op) {
  bool inside = false;
  for (const OperatorRange& range : rule.ranges) {
    bool& is_open = open_ranges_[{op.graph_id, &range}];
    if (op.name == range.first) is_open = true;
    inside |= is_open;
    if (op.name == range.last) is_open = false;
    if (op.name == range.first || op.name == range.last) hits_.insert(op.name);
  }
  return inside;
}

std::vector<std::string> ModelSelector::describe_unmatched(std::span<const std::string_view> names) const {
  std::set<std::string_view> known;  // the file's name is often the one inside it
  for (const auto& [id, model] : models_)
    for (const std::string& name : {std::cref(model.name), std::cref(model.file_name)})
      if (!name.empty()) known.insert(name);
  const std::vector<std::string_view> models(known.begin(), known.end());
  std::vector<std::string> sentences;
  const auto note = [&](std::string_view what, const std::string& name,
                        std::span<const std::string_view> others) {
    if (!hits_.contains(name))
      sentences.push_back(std::string(what) + " '" + name + "' of dump_list" +
                          nearest(name.starts_with(kCall) ? name.substr(kCall.size()) : name, others));
  };
  const bool only_nameless = std::ranges::find(rules_, "", &ModelRule::model) != rules_.end();
  for (const ModelRule& rule : rules_) {
    if (all_models_ || (only_nameless && !rule.model.empty())) continue;
    if (!rule.model.empty() && !hits_.contains(rule.model)) {
      const bool met = std::ranges::find(models, rule.model) != models.end();
      if (!met) note("there was no model", rule.model, models);
      continue;
    }
    for (const std::string& name : rule.operators) {
      const auto engine_name = hits_.contains(name) ? std::nullopt : parse_engine_name(name);
      const std::string hint = engine_name ? nearest_of_engine(*engine_name, names) : "";
      if (hint.empty())
        note("no operator is the layer", name, names);
      else
        sentences.push_back(
            std::string("no operator is the layer '").append(name).append("' of dump_list").append(hint));
    }
    for (const std::string& name : rule.watched) note("no operator is the watched node", name, names);
    for (const OperatorRange& range : rule.ranges) {
      note("no operator is the begin", range.first, names);
      note("no operator is the end", range.last, names);
    }
  }
  return sentences;
}

}  // namespace opdump::plan
