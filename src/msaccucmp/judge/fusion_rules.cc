#include "msaccucmp/judge/fusion_rules.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text/packing.h"
#include "base/text/text.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

using format::FusionOp;
using format::FusionOutput;

constexpr std::uint32_t kMostOps = 1 << 24;  // some 4 GiB

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

void put_texts(Packer& out, const std::vector<std::string>& texts) {
  out.number(texts.size());
  for (const std::string& text : texts) out.text(text);
}

std::vector<std::string> take_texts(Unpacker& in) {
  std::vector<std::string> texts(in.number());
  for (std::string& text : texts) text = in.text();
  return texts;
}

// All but the name.
std::string packed(const FusionOp& op) {
  std::string bytes;
  Packer out(bytes);
  out.signed_number(op.sequence);
  put_texts(out, op.original_names);
  out.text(op.type);
  put_texts(out, op.inputs);
  out.number(op.has_original_names ? 1 : 0);
  out.text(op.l1_group);
  out.number(op.is_multi ? 1 : 0);
  for (const FusionOutput& output : op.outputs) {
    out.text(output.origin_name);
    out.number(output.origin_index ? 1 : 0);
    out.signed_number(output.origin_index.value_or(0));
    out.text(output.origin_format);
    out.number(output.origin_shape.size());
    for (const std::int64_t extent : output.origin_shape) out.signed_number(extent);
    out.text(output.dtype);
  }
  return bytes;
}

FusionOutput take_output(Unpacker& in) {
  FusionOutput output;
  output.origin_name = in.text();
  const bool has_index = in.number() != 0;
  const std::int64_t index = in.signed_number();
  if (has_index) output.origin_index = index;
  output.origin_format = in.text();
  output.origin_shape.resize(in.number());
  for (std::int64_t& extent : output.origin_shape) extent = in.signed_number();
  output.dtype = in.text();
  return output;
}

FusionOp unpacked(std::string_view bytes) {
  Unpacker in(bytes);
  FusionOp op;
  op.sequence = in.signed_number();
  op.original_names = take_texts(in);
  op.type = in.text();
  op.inputs = take_texts(in);
  op.has_original_names = in.number() != 0;
  op.l1_group = in.text();
  op.is_multi = in.number() != 0;
  while (!in.is_empty()) op.outputs.push_back(take_output(in));
  return op;
}

std::int64_t sequence_in(std::string_view packed) { return Unpacker(packed).signed_number(); }

// The original operator if there is one and no other.
std::optional<std::string_view> only_original(std::string_view packed) {
  Unpacker in(packed);
  in.signed_number();
  return in.number() == 1 ? std::optional(in.text()) : std::nullopt;
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

void OriginTensor::prefer_shape(const model::Shape& stated) {
  if (stated.rank() > 0) shape.assign(stated.dims().begin(), stated.dims().end());
}

std::string FusionRules::key_of(const FusionOp& op) {
  return op.l1_group.empty() ? key_of_originals(op) : op.l1_group;
}

std::string FusionRules::key_of_originals(const FusionOp& op) {
  if (op.original_names.size() > 1) return key_of_many(op.original_names);
  return op.original_names.empty() || op.original_names[0].empty() ? op.name : op.original_names[0];
}

std::uint32_t FusionRules::add_text(std::string_view text) {
  const std::uint32_t number = texts_.add(text);
  text_facts_.resize(texts_.size());
  return number;
}

void FusionRules::set_key(std::uint32_t name, std::uint32_t key) {
  if (text_facts_[name].key == kNone) names_.push_back(name);
  text_facts_[name].key = key;
}

std::uint32_t FusionRules::group_at(std::uint32_t key) {
  if (text_facts_[key].group == kNone) {
    text_facts_[key].group = group_count();
    groups_.emplace_back();
  }
  return text_facts_[key].group;
}

void FusionRules::put_into(std::uint32_t group, std::uint32_t op) {
  Members& all = groups_[group];
  (all.first == kNone ? all.first : ops_[all.last].next) = op;
  all.last = op;
  ops_[op].next = kNone;
}

bool FusionRules::holds(std::uint32_t group, std::uint32_t name) const {
  for (std::uint32_t op = groups_[group].first; op != kNone; op = ops_[op].next)
    if (ops_[op].name == name) return true;
  return false;
}

void FusionRules::pack(std::uint32_t number, const FusionOp& op) {
  ops_[number].packed = packed_.add(packed(op));
  ops_[number].has_only_origin = false;
}

std::uint32_t FusionRules::add_op(std::uint32_t name, std::uint32_t index, const FusionOp& op) {
  const std::uint32_t number = op_count();
  ops_.push_back({nullptr, name, index, kNone, false, false});
  pack(number, op);
  return number;
}

Result<> FusionRules::add(std::size_t graph, FusionOp op) {
  if (op_count() == kMostOps)
    return Error(Code::limit, "more than " + std::to_string(kMostOps) + " operators");
  if (graph != std::exchange(graph_, graph)) complete_origins();
  if (op.type == "Data" && !op.name.empty()) input_nodes_.push_back(op.name);
  if (!op.has_original_names) name_origins(op.outputs, op.name);
  const std::uint32_t name = add_text(op.name), key = add_text(key_of(op));
  const std::uint32_t old_key = text_facts_[name].key;
  set_key(name, key);
  const std::uint32_t group = group_at(key);
  if (old_key == kNone || (old_key != key && !holds(group, name))) put_into(group, add_op(name, group, op));
  return ok();
}

void FusionRules::finish() {
  complete_origins();
  in_sequence_.resize(op_count());
  std::iota(in_sequence_.begin(), in_sequence_.end(), 0U);
  std::ranges::stable_sort(in_sequence_, {}, [&](std::uint32_t op) { return sequence_of(op); });
}

// An operator that is one original operator under another name has that one's outputs.
void FusionRules::complete_origins() {
  for (std::uint32_t i = 0; i < group_count(); ++i) {
    const Members group = groups_[i];
    if (group.first != group.last) continue;
    Op& op = ops_[group.first];
    const auto origin = only_original(TextArena::view(op.packed));
    op.has_only_origin = op.has_only_origin || origin == texts_[text_facts_[op.name].key];
  }
}

RuleOp FusionRules::op(std::uint32_t number) const {
  const Op& op = ops_[number];
  RuleOp rule{number, static_cast<int>(op.index), unpacked(TextArena::view(op.packed)), op.is_filtered};
  rule.op.name = texts_[op.name];
  if (op.has_only_origin) name_origins(rule.op.outputs, rule.op.original_names[0]);
  return rule;
}

std::int64_t FusionRules::sequence_of(std::uint32_t op) const {
  return sequence_in(TextArena::view(ops_[op].packed));
}

std::vector<std::uint32_t> FusionRules::members(std::uint32_t group) const {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t op = groups_[group].first; op != kNone; op = ops_[op].next) numbers.push_back(op);
  return numbers;
}

std::vector<RuleOp> FusionRules::group(std::uint32_t number) const {
  std::vector<RuleOp> rules;
  for (const std::uint32_t member : members(number)) rules.push_back(op(member));
  return rules;
}

std::optional<std::uint32_t> FusionRules::find_group(std::string_view name) const {
  const auto number = texts_.find(name);
  if (!number || text_facts_[*number].key == kNone) return std::nullopt;
  const std::uint32_t group = text_facts_[text_facts_[*number].key].group;
  return group == kNone ? std::nullopt : std::optional(group);
}

std::optional<RuleOp> FusionRules::find(std::string_view name) const {
  const auto group = find_group(name);
  if (!group) return std::nullopt;
  for (std::uint32_t i = groups_[*group].first; i != kNone; i = ops_[i].next)
    if (name_of(i) == name) return op(i);
  return std::nullopt;
}

Relation relation_of(std::span<const RuleOp> group) {
  const FusionOp& first = group.front().op;
  if (group.size() == 1)
    return first.original_names.size() > 1 ? Relation::many_to_one : Relation::one_to_one;
  if (!first.l1_group.empty()) return Relation::l1;
  return first.original_names.size() == 1 ? Relation::one_to_many : Relation::many_to_many;
}

bool is_inner(const FusionOp& op) {
  return op.is_multi && std::ranges::all_of(op.outputs, [](const FusionOutput& output) {
           return output.origin_name.empty();
         });
}

std::size_t place_of(std::int64_t index, std::size_t count) {
  return static_cast<std::size_t>(index < 0 ? index + static_cast<std::int64_t>(count) : index);
}

Outcome<OriginTensor> origin_of(const FusionOp& op, std::size_t index, Log& log) {
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
  log.warn(problem);
  return Failure{Status::no_dump_file, std::move(problem)};
}

Outcome<InputEdge> input_edge(const FusionOp& op, std::size_t index, Log& log) {
  if (index >= op.inputs.size()) {
    log.error("The input index (" + std::to_string(index) + ") is out of range (" +
              std::to_string(op.inputs.size()) + ") for the operator list.");
    return Failure{Status::out_of_bounds, ""};
  }
  const std::string& input = op.inputs[index];
  const std::string begin = "The input information (" + input + ") is invalid. ";
  // Names that hold a colon are not understood, as in the original: its tables say so of them.
  const std::size_t colon = input.find(':');
  if (colon == std::string::npos || input.find(':', colon + 1) != std::string::npos)
    return log.fail(Status::json_content, begin + "It only supports op_name:index.");
  const std::string_view name = trim(std::string_view(input).substr(0, colon));
  if (name.empty()) return log.fail(Status::json_content, begin + "The input operator name is empty.");
  const auto number = parse_uint64(trim(std::string_view(input).substr(colon + 1)));
  if (!number) return log.fail(Status::json_content, begin + "The input index only supports numbers.");
  return InputEdge{std::string(name), static_cast<std::size_t>(*number)};
}

}  // namespace opdump::msaccucmp
