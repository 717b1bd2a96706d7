#include "compare/fusion_rules.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"

namespace opdump::compare {
namespace {

using format::FusionOp;
using format::FusionOutput;

// Several originals: no name of an operator holds a NUL.
std::string key_of_many(const std::vector<std::string>& names) {
  return std::string(1, '\0') + join(names, "");
}

// Outputs without an origin are those of `name`.
void name_origins(std::vector<FusionOutput>& outputs, const std::string& name) {
  if (outputs.empty()) outputs.push_back({name, std::nullopt, "", {}, ""});
  for (FusionOutput& output : outputs)
    if (output.origin_name.empty()) output.origin_name = name;
}

}  // namespace

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::size_t size = 0;
  for (const std::string& word : words) size += separator.size() + word.size();
  std::string text;
  text.reserve(size);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += separator;
    text += words[i];
  }
  return text;
}

void OriginTensor::prefer_shape(const model::Shape& told) {
  if (told.rank() > 0) shape.assign(told.dims().begin(), told.dims().end());
}

FusionRules::FusionRules(format::FusionFile file) {
  std::size_t count = 0;
  for (const format::FusionGraph& graph : file.graphs) count += graph.ops.size();
  ops_.reserve(count);
  for (format::FusionGraph& graph : file.graphs) {
    for (; !graph.ops.empty(); graph.ops.pop_front()) {
      FusionOp& op = graph.ops.front();
      if (op.type == "Data" && !op.name.empty()) input_nodes_.push_back(op.name);
      add(std::move(op));
    }
    complete_origins();
  }
  sort_sequence();
}

std::string FusionRules::key_of(const FusionOp& op) {
  return op.l1_group.empty() ? key_of_originals(op) : op.l1_group;
}

std::string FusionRules::key_of_originals(const FusionOp& op) {
  if (op.original_names.size() > 1) return key_of_many(op.original_names);
  return op.original_names.empty() || op.original_names[0].empty() ? op.name : op.original_names[0];
}

std::uint32_t FusionRules::set_group(std::string_view name, std::string_view key) {
  const std::uint32_t name_number = names_.add(name), number = keys_.add(key);
  key_of_name_.resize(names_.size(), kNone);
  group_of_key_.resize(keys_.size(), kNone);
  return key_of_name_[name_number] = number;
}

RuleGroup& FusionRules::group_at(std::uint32_t key) {
  std::uint32_t& group = group_of_key_[key];
  if (group == kNone) {
    group = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back({key, {}});
  }
  return groups_[group];
}

void FusionRules::add(FusionOp op) {
  if (!op.tells_original_names) name_origins(op.outputs, op.name);
  RuleGroup& group = group_at(set_group(op.name, key_of(op)));
  for (const std::size_t member : group.members)
    if (ops_[member].op.name == op.name) return;
  group.members.push_back(ops_.size());
  ops_.push_back({static_cast<int>(&group - groups_.data()), std::move(op), false});
}

// An operator that is one original operator under another name has that one's outputs.
void FusionRules::complete_origins() {
  for (const RuleGroup& group : groups_) {
    if (group.members.size() != 1) continue;
    FusionOp& op = ops_[group.members[0]].op;
    if (op.original_names.size() == 1 &&
        keys_.at(key_of_name_[*names_.find(op.name)]) == op.original_names[0])
      name_origins(op.outputs, op.original_names[0]);
  }
}

void FusionRules::sort_sequence() {
  in_sequence_.resize(ops_.size());
  std::iota(in_sequence_.begin(), in_sequence_.end(), std::size_t{0});
  std::ranges::stable_sort(in_sequence_, {}, [&](std::size_t i) { return ops_[i].op.sequence; });
}

const RuleGroup* FusionRules::find_group(std::string_view name) const {
  const auto number = names_.find(name);
  if (!number) return nullptr;
  const std::uint32_t group = group_of_key_[key_of_name_[*number]];
  return group == kNone ? nullptr : &groups_[group];
}

const RuleOp* FusionRules::find(std::string_view name) const {
  const RuleGroup* group = find_group(name);
  if (group == nullptr) return nullptr;
  for (const std::size_t member : group->members)
    if (ops_[member].op.name == name) return &ops_[member];
  return nullptr;
}

Relation FusionRules::relation_of(const RuleGroup& group) const {
  const FusionOp& first = ops_[group.members.front()].op;
  if (group.members.size() == 1)
    return first.original_names.size() > 1 ? Relation::many_to_one : Relation::one_to_one;
  if (!first.l1_group.empty()) return Relation::l1;
  return first.original_names.size() == 1 ? Relation::one_to_many : Relation::many_to_many;
}

bool is_inner(const FusionOp& op) {
  return op.is_multi && std::ranges::all_of(op.outputs, [](const FusionOutput& output) {
           return output.origin_name.empty();
         });
}

Outcome<OriginTensor> origin_of(const FusionOp& op, std::size_t index, Journal& journal) {
  std::string problem;
  if (op.outputs.empty()) {
    problem = "The output description of the fusion operator \"" + op.name + "\" is empty.";
  } else {
    const FusionOutput& output = op.outputs[index < op.outputs.size() ? index : 0];
    if (!output.origin_name.empty())
      return OriginTensor{output.origin_name, output.origin_index.value_or(static_cast<std::int64_t>(index)),
                          output.origin_format, output.origin_shape};
    problem = "The origin name of the " + op.name + ":" + std::to_string(index) + " is empty.";
  }
  journal.warn(problem);
  return Failure{Status::no_dump_file, std::move(problem)};
}

Outcome<InputEdge> input_edge(const FusionOp& op, std::size_t index, Journal& journal) {
  if (index >= op.inputs.size()) {
    journal.error("The input index (" + std::to_string(index) + ") is out of range (" +
                  std::to_string(op.inputs.size()) + ") for the operator list.");
    return Failure{Status::out_of_bounds, ""};
  }
  const std::string& input = op.inputs[index];
  const std::string begin = "The input information (" + input + ") is invalid. ";
  // Names that hold a colon are not understood, as in the original: its tables say so of them.
  const std::size_t colon = input.find(':');
  if (colon == std::string::npos || input.find(':', colon + 1) != std::string::npos)
    return journal.fail(Status::json_content, begin + "It only supports op_name:index.");
  const std::string_view name = trim(std::string_view(input).substr(0, colon));
  if (name.empty()) return journal.fail(Status::json_content, begin + "The input operator name is empty.");
  const auto number = parse_uint64(trim(std::string_view(input).substr(colon + 1)));
  if (!number) return journal.fail(Status::json_content, begin + "The input index only supports numbers.");
  return InputEdge{std::string(name), static_cast<std::size_t>(*number)};
}

}  // namespace opdump::compare
