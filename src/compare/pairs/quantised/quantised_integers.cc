#include "compare/pairs/quantised/quantised_integers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <tuple>

#include "compare/facts/integer_operators.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/wiring/content.h"
#include "dump/read/dump_set.h"
#include "math/convert.h"

namespace opdump::compare {
namespace {

using dump::Slot;
using dump::StoredTensor;

constexpr std::string_view kScaled = "_quant_output_scale_mul", kBias = "_Add", kProduct = "_MatMul_quant";

bool is_byte(model::DType dtype) { return dtype == model::DType::int8 || dtype == model::DType::uint8; }

// Reads the number in a tensor with one element.
std::optional<double> number_in(const Slot& slot) {
  if (slot.file.empty()) return std::nullopt;
  const auto tensor = StoredTensor::read(slot);
  if (!tensor || tensor->view().element_count() != 1) return std::nullopt;
  return math::element_as_double(tensor->view().dtype, tensor->view().data, 0);
}

const Slot* find_slot(std::span<const Slot> slots, model::Side side, std::uint32_t index) {
  const auto found =
      std::ranges::find_if(slots, [&](const Slot& slot) { return slot.side == side && slot.index == index; });
  return found == slots.end() ? nullptr : &*found;
}

// Which operand of the operator in floating point an input of one with integers is.
std::optional<std::uint32_t> operand_of(std::string_view type, std::uint32_t index) {
  if (type == "QLinearConcat")
    return index >= 2 && (index - 2) % 3 == 0 ? std::optional((index - 2) / 3) : std::nullopt;
  const std::uint32_t step = computes_with_levels(type) ? 3 : 1;
  return index % step == 0 && index / step < 2 ? std::optional(index / step) : std::nullopt;
}

// Returns where the scale of what it makes is: behind its operands, each of which has a scale and a zero; a
// bias has not.
std::uint32_t result_scale_of(const dump::OperatorRun& run) {
  for (std::uint32_t index = 0; index < run.slots.size(); index += 3) {
    const Slot* const slot = find_slot(run.slots, model::Side::input, index);
    if (slot == nullptr || !is_byte(slot->dtype)) return run.type == "QGemm" ? index + 1 : index;
  }
  return OperatorPair::kNone;
}

// "conv" of "conv_quant"
std::string without_integer(const std::string& name) {
  return name.ends_with(kIntegerName) ? name.substr(0, name.size() - kIntegerName.size()) : name;
}

// Returns the names of the operators of the file that it stands for.
std::vector<std::string> names_in_file(const dump::OperatorRun& run) {
  const std::vector<std::string>* const originals = run.originals();
  return originals != nullptr && !originals->empty() ? *originals : std::vector{operator_name(run)};
}

// Whether an engine made it of the operator of that name and others.
bool is_made_of(const dump::OperatorRun& run, const std::string& name) {
  return run.originals() != nullptr && std::ranges::count(*run.originals(), name) > 0;
}

// Finds the scale and the zero that lie beside a tensor in an operator, or belong to what the operator makes.
std::optional<QuantisedIntegers::Levels> find_beside(const dump::OperatorRun& run, const Slot& slot) {
  if (!is_byte(slot.dtype)) return std::nullopt;
  const bool is_made = slot.side == model::Side::output && computes_with_levels(run.type);
  if (is_made && slot.index > 0) return std::nullopt;
  const model::Side side = is_made ? model::Side::input : slot.side;
  // MatMulIntegerToFloat has both operands, then both scales, and then both zeros.
  const std::uint32_t apart = run.type == "MatMulIntegerToFloat" ? 2 : 1;
  const std::uint32_t at = is_made ? result_scale_of(run) : slot.index + apart;
  const Slot *const scale = find_slot(run.slots, side, at), *const zero =
                                                                find_slot(run.slots, side, at + apart);
  if (scale == nullptr || zero == nullptr || !model::is_floating(scale->dtype) || zero->dtype != slot.dtype)
    return std::nullopt;
  const auto step = number_in(*scale), level = number_in(*zero);
  if (!step || !level || !(*step > 0) || !std::isfinite(*step)) return std::nullopt;
  return QuantisedIntegers::Levels{*step, *level};
}

using Place = std::tuple<std::uint32_t, std::int64_t, std::string>;  // rank, step, name
Place place_of(const dump::OperatorRun& run, std::string_view name) {
  return {run.rank, run.step, std::string(name)};
}

}  // namespace

std::optional<QuantisedIntegers::Content> content_of(const Slot& slot) {
  if (slot.file.empty()) return std::nullopt;
  const auto print = fingerprint_of(slot);
  return print ? std::optional(std::pair(print->sum, print->count)) : std::nullopt;
}

QuantisedIntegers::QuantisedIntegers(const dump::Runs& whole, const dump::Runs& quantised, bool is_golden)
    : whole_(whole), quantised_(quantised), is_golden_(is_golden) {
  read_levels();
  for (std::uint32_t i = quantised_.size(); i-- > 0;) carry(i);
  for (std::uint32_t i = 0; i < quantised_.size(); ++i) carry(i);
}

void QuantisedIntegers::read_levels() {
  for (std::uint32_t i = 0; i < quantised_.size(); ++i) {
    const dump::OperatorRun run = quantised_[i];
    for (const Slot& slot : run.slots) {
      const auto levels = find_beside(run, slot);
      const auto content = levels ? content_of(slot) : std::nullopt;
      if (content) levels_[*content] = *levels;
    }
  }
}

// What an operator does not compute with, but gives to others: Gather, Split.
void QuantisedIntegers::carry(std::uint32_t index) {
  const std::vector<Slot> slots = quantised_[index].slots;
  const Slot *const from = find_slot(slots, model::Side::input, 0), *const to = find_slot(
                                                                        slots, model::Side::output, 0);
  if (from == nullptr || to == nullptr || !is_byte(from->dtype) || from->dtype != to->dtype ||
      quantised_.without_slots(index).type.starts_with('Q'))
    return;
  const auto read = content_of(*from);
  for (const Slot& slot : slots) {
    if (slot.side != model::Side::output || !read) continue;
    const auto made = content_of(slot);
    if (!made) continue;
    if (const auto known = levels_.find(*read); known != levels_.end())
      levels_.emplace(*made, known->second);
    else if (const auto later = levels_.find(*made); later != levels_.end())
      levels_.emplace(*read, later->second);
  }
}

// Two tensors may have the same integers, and other scales. What stands beside the result of several
// operators is the first one's.
std::optional<QuantisedIntegers::Levels> QuantisedIntegers::find(const dump::OperatorRun& run,
                                                                 const Slot& slot) const {
  const bool is_of_last = run.is_joined && slot.side == model::Side::output;
  if (const auto beside = is_of_last ? std::nullopt : find_beside(run, slot)) return beside;
  const auto content = content_of(slot);
  const auto found = content ? levels_.find(*content) : levels_.end();
  return found == levels_.end() ? std::nullopt : std::optional(found->second);
}

void QuantisedIntegers::pair_by_names(std::vector<OperatorPair>& pairs) const {
  std::map<Place, std::size_t> whole, quantised;  // without a partner
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].is_whole()) continue;
    const bool is_whole = whole_of(pairs[i]) != OperatorPair::kNone;
    const dump::OperatorRun run = is_whole ? whole_.without_slots(whole_of(pairs[i]))
                                           : quantised_.without_slots(quantised_of(pairs[i]));
    (is_whole ? whole : quantised).emplace(place_of(run, name_in_file(run)), i);
  }
  std::vector<bool> is_gone(pairs.size());
  std::vector<std::size_t> found;
  const auto join = [&](std::string_view last, std::string_view first) {
    for (const auto& [place, at] : quantised) {
      const auto& [rank, step, name] = place;
      if (!name.ends_with(last) || is_gone[at]) continue;
      const std::string base = name.substr(0, name.size() - last.size());
      const std::string begins = base + std::string(first);
      const bool is_one = is_made_of(quantised_.without_slots(quantised_of(pairs[at])), begins);
      const auto partner = whole.find({rank, step, base}),
                 begin = quantised.find(is_one ? place : Place{rank, step, begins});
      if (partner == whole.end() || begin == quantised.end() || pairs[partner->second].is_whole()) continue;
      OperatorPair& pair = pairs[partner->second];
      quantised_of(pair) = quantised_of(pairs[at]);
      if (begin->second != at) first_quantised_of(pair) = quantised_of(pairs[begin->second]);
      pair.paired_by = PairedBy::name;
      is_gone[at] = is_gone[begin->second] = true;
      found.push_back(partner->second);
    }
  };
  join(kScaled, kIntegerName);
  join(kIntegerName, kIntegerName);
  join(kBias, kProduct);
  join_followers(pairs, found, false, is_gone);
  join_followers(pairs, found, true, is_gone);
  join_parts(pairs, is_gone);
  join_fused(pairs, is_gone);
  std::size_t at = 0;
  std::erase_if(pairs, [&](const OperatorPair&) { return static_cast<bool>(is_gone[at++]); });
}

// The operator belongs to the one before: in the whole model, if it leaves numbers from 0 on or up to a
// limit, because its integers stand for no others; in the quantised one, if it adds the bias of a
// convolution.
bool QuantisedIntegers::belongs_to_the_one_before(const dump::OperatorRun& run, bool is_whole) {
  return is_whole ? run.type == "Relu" || run.type == "Clip" : operator_name(run).ends_with(kConvBiasName);
}

void QuantisedIntegers::join_followers(std::vector<OperatorPair>& pairs,
                                       const std::vector<std::size_t>& found, bool is_whole,
                                       std::vector<bool>& is_gone) const {
  const dump::Runs& runs = is_whole ? whole_ : quantised_;
  const bool is_of_golden = is_whole != is_golden_;
  const auto index_of = [&](OperatorPair& pair) -> std::uint32_t& {
    return is_of_golden ? pair.golden : pair.actual;
  };
  std::map<Content, std::size_t> results;
  for (const std::size_t i : found)
    for (const Slot& slot : runs.slots(index_of(pairs[i])))
      if (slot.side == model::Side::output && slot.index == 0)
        if (const auto content = content_of(slot)) results.emplace(*content, i);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (is_gone[i] || pairs[i].is_whole() || index_of(pairs[i]) == OperatorPair::kNone) continue;
    const dump::OperatorRun run = runs[index_of(pairs[i])];
    if (!belongs_to_the_one_before(run, is_whole)) continue;
    const Slot* const input = find_slot(run.slots, model::Side::input, 0);
    const auto content = input != nullptr ? content_of(*input) : std::nullopt;
    const auto before = content ? results.find(*content) : results.end();
    if (before == results.end()) continue;
    OperatorPair& pair = pairs[before->second];
    std::uint32_t& first = is_of_golden ? pair.golden_first : pair.actual_first;
    if (first == OperatorPair::kNone) first = index_of(pair);
    index_of(pair) = index_of(pairs[i]);
    is_gone[i] = true;
    results.erase(before);
  }
}

// DynamicQuantizeMatMul adds the bias, too: in the whole model, MatMul and Add, or MatMul and BiasGelu.
void QuantisedIntegers::join_parts(std::vector<OperatorPair>& pairs, std::vector<bool>& is_gone) const {
  std::map<Place, std::size_t> open,
      made;  // of the whole model: what has no partner, what was made of others
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (is_gone[i] || whole_of(pairs[i]) == OperatorPair::kNone) continue;
    const dump::OperatorRun run = whole_.without_slots(whole_of(pairs[i]));
    if (!pairs[i].is_whole()) open.emplace(place_of(run, name_in_file(run)), i);
    if (run.originals() == nullptr) continue;
    for (const std::string& name : *run.originals()) made.emplace(place_of(run, name), i);
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (is_gone[i] || quantised_of(pairs[i]) == OperatorPair::kNone) continue;
    const dump::OperatorRun run = quantised_.without_slots(quantised_of(pairs[i]));
    if (run.originals() == nullptr) continue;
    const auto begins = [&](const std::string& name) { return name.ends_with(kIntegerName); };
    const auto first = std::ranges::find_if(*run.originals(), begins);
    if (first == run.originals()->end()) continue;
    const auto part = open.find(place_of(run, without_integer(*first)));
    const auto last = made.find(place_of(run, name_in_file(run)));
    const std::size_t at = pairs[i].is_whole() ? i : last != made.end() ? last->second : pairs.size();
    if (part == open.end() || is_gone[part->second] || at == pairs.size() || !pairs[at].is_whole()) continue;
    first_whole_of(pairs[at]) = whole_of(pairs[part->second]);
    if (at != i) first_quantised_of(pairs[at]) = quantised_of(pairs[i]);
    pairs[at].fusion = Fusion::none;
    is_gone[part->second] = true;
    if (at != i) is_gone[i] = true;
  }
}

// FusedConv: in the quantised model, ConvInteger and Relu. If it has no operator for the first of them,
// inputs are not compared.
void QuantisedIntegers::join_fused(std::vector<OperatorPair>& pairs, std::vector<bool>& is_gone) const {
  std::map<Place, std::size_t> open;  // of the quantised model, with integers
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (is_gone[i] || pairs[i].is_whole() || quantised_of(pairs[i]) == OperatorPair::kNone) continue;
    const dump::OperatorRun run = quantised_.without_slots(quantised_of(pairs[i]));
    if (serves_integers(run)) open.emplace(place_of(run, without_integer(name_in_file(run))), i);
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    OperatorPair& pair = pairs[i];
    if (is_gone[i] || !pair.is_whole() || first_quantised_of(pair) != OperatorPair::kNone) continue;
    const dump::OperatorRun run = whole_.without_slots(whole_of(pair));
    const std::vector<std::string> parts = names_in_file(run);
    std::vector<std::string> made = names_in_file(quantised_.without_slots(quantised_of(pair)));
    std::ranges::transform(made, made.begin(), without_integer);
    const auto is_in_both = [&](const std::string& part) { return std::ranges::count(made, part) > 0; };
    if (parts.size() == 1 || std::ranges::all_of(parts, is_in_both)) continue;
    const auto first = open.find(place_of(run, parts.front()));
    if (first == open.end() || is_gone[first->second]) {
      pair.fusion = Fusion::fused;
      continue;
    }
    first_quantised_of(pair) = quantised_of(pairs[first->second]);
    is_gone[first->second] = true;
  }
}

void QuantisedIntegers::pair_operands(OperatorComparison& op) const {
  if (op.golden == nullptr || op.actual == nullptr || op.golden->type == op.actual->type) return;
  const dump::OperatorRun &quantised = is_golden_ ? *op.golden : *op.actual,
                          &whole = is_golden_ ? *op.actual : *op.golden;
  const auto is_of_integers = [](const Slot& slot) {
    return slot.side == model::Side::input && is_byte(slot.dtype);
  };
  if (!serves_integers(quantised) && std::ranges::none_of(quantised.slots, is_of_integers)) return;
  std::vector<SlotComparison> kept;
  const SlotComparison usual = op.slots.empty() ? SlotComparison() : op.slots.front();
  for (const Slot& slot : quantised.slots) {
    if (slot.side != model::Side::input) continue;
    const auto operand = operand_of(quantised.type, slot.index);
    const Slot* const other = operand ? find_slot(whole.slots, model::Side::input, *operand) : nullptr;
    if (other == nullptr) continue;
    SlotComparison& pair = kept.emplace_back(usual);
    pair.golden = is_golden_ ? &slot : other;
    pair.actual = is_golden_ ? other : &slot;
  }
  for (SlotComparison& slot : op.slots)
    if (side_of(slot) == model::Side::output) kept.push_back(std::move(slot));
  op.slots = std::move(kept);
}

}  // namespace opdump::compare
