#include "compare/rules/rounding/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text/json.h"
#include "compare/rules/rounding/conditioning.h"
#include "math/convert.h"

namespace opdump::compare {
namespace {

using dump::Slot;

// What is less is the rounding that every tensor has.
constexpr double kUncertainRoundoffs = 32;

std::pair<std::uint64_t, std::uint64_t> place_of(const Fingerprint& print) {
  return {print.count, print.sum};
}

std::uint64_t size_of(const Slot& slot) {
  return slot.shape ? model::element_count(*slot.shape).value_or(0) : 0;
}

// Which of the tensors of a list an input is: those of one place in several lists belong together.
std::map<std::uint64_t, std::size_t> places_in_lists(const dump::OperatorRun& run) {
  std::map<std::uint64_t, std::size_t> places;
  const auto arguments = run.form ? parse_ordered_json(run.form->arguments) : nlohmann::ordered_json();
  if (!arguments.is_object()) return places;
  for (const auto& argument : arguments) {
    if (!argument.is_array()) continue;
    std::size_t place = 0;
    for (const auto& one : argument) {
      const auto tensor = one.is_object() ? one.find("tensor") : one.end();
      if (tensor != one.end() && tensor->is_number_unsigned()) places[tensor->get<std::uint64_t>()] = place;
      ++place;
    }
  }
  return places;
}

}  // namespace

std::optional<std::vector<double>> numbers_of(const Slot& slot) {
  if (slot.file.empty()) return std::nullopt;
  auto tensor = dump::StoredTensor::read(slot);
  if (!tensor || !model::is_floating(tensor->view().dtype) || !tensor->straighten()) return std::nullopt;
  const model::TensorView& view = tensor->view();
  std::vector<double> numbers(view.element_count());
  math::convert_elements(view.dtype, view.data, numbers.data(), numbers.size());
  return numbers;
}

Uncertainty::Uncertainty(const dump::Runs& golden, const dump::Runs& actual,
                         std::span<const OperatorPair> pairs, std::span<const std::size_t> singles,
                         const std::set<std::size_t>& open) {
  for (const std::size_t place : singles) {
    const bool is_golden = pairs[place].golden != OperatorPair::kNone;
    const dump::Runs& runs = is_golden ? golden : actual;
    for (const Slot& slot : runs.slots(is_golden ? pairs[place].golden : pairs[place].actual))
      if (slot.side == model::Side::input && model::is_floating(slot.dtype))
        if (const auto print = fingerprint_of(slot))
          (is_golden ? of_golden_ : of_actual_).read.insert(place_of(*print));
  }
  std::set<std::uint64_t> sizes;
  for (const OfRun* run : {&of_golden_, &of_actual_})
    for (const Key& key : run->read) sizes.insert(key.first);
  auto single = singles.begin();
  for (std::size_t place = 0; place < pairs.size(); ++place) {
    const OperatorPair& pair = pairs[place];
    if (single != singles.end() && *single == place) {
      ++single;
      const bool is_golden = pair.golden != OperatorPair::kNone;
      add_single(is_golden ? golden[pair.golden] : actual[pair.actual], is_golden ? of_golden_ : of_actual_);
    }
    if (pair.golden == OperatorPair::kNone || pair.actual == OperatorPair::kNone || open.contains(place))
      continue;
    std::map<std::uint32_t, Slot> outputs;
    for (const Slot& slot : golden.slots(pair.golden))
      if (slot.side == model::Side::output && sizes.contains(size_of(slot))) outputs[slot.index] = slot;
    if (outputs.empty()) continue;
    for (const Slot& slot : actual.slots(pair.actual))
      if (slot.side == model::Side::output && outputs.contains(slot.index))
        add_pair(outputs[slot.index], slot);
  }
}

void Uncertainty::add_pair(const Slot& golden, const Slot& actual) {
  if (golden.shape != actual.shape || size_of(golden) > room_) return;
  const auto g = fingerprint_of(golden), a = fingerprint_of(actual);
  if (!g || !a || *g == *a) return;
  if (!of_golden_.read.contains(place_of(*g)) && !of_actual_.read.contains(place_of(*a))) return;
  const auto in_golden = numbers_of(golden), in_actual = numbers_of(actual);
  if (!in_golden || !in_actual) return;
  const double u = std::max(roundoff(golden.dtype), roundoff(actual.dtype));
  auto elements = std::make_shared<Elements>(in_golden->size());
  double largest = 0;
  for (std::size_t i = 0; i < elements->size(); ++i) {
    const double x = (*in_golden)[i], y = (*in_actual)[i];
    const double relative = x == y ? 0 : std::abs(x - y) / std::max(std::abs(x), std::abs(y));
    (*elements)[i] = static_cast<float>(relative);
    largest = std::max(largest, relative);
  }
  if (!(largest > kUncertainRoundoffs * u)) return;
  room_ -= elements->size();
  of_golden_.known[place_of(*g)] = of_actual_.known[place_of(*a)] = std::move(elements);
}

void Uncertainty::add_single(const dump::OperatorRun& run, OfRun& of_run) {
  const std::map<std::uint64_t, std::size_t> places = places_in_lists(run);
  const auto place_in_list = [&](std::uint32_t index) {
    const auto found = places.find(index);
    return found == places.end() ? std::size_t{0} : found->second;
  };
  std::map<std::pair<std::size_t, std::uint64_t>, std::shared_ptr<const Elements>> read;  // by place and size
  for (const Slot& slot : run.slots) {
    if (slot.side != model::Side::input || !model::is_floating(slot.dtype)) continue;
    const auto print = fingerprint_of(slot);
    const auto known = print ? of_run.known.find(place_of(*print)) : of_run.known.end();
    if (known == of_run.known.end()) continue;
    std::shared_ptr<const Elements>& all = read[{place_in_list(slot.index), print->count}];
    if (all == nullptr || all == known->second) {
      all = known->second;
      continue;
    }
    if (all->size() > room_) continue;
    room_ -= all->size();
    auto both = std::make_shared<Elements>(*all);
    for (std::size_t i = 0; i < both->size(); ++i) (*both)[i] = std::max((*both)[i], (*known->second)[i]);
    all = std::move(both);
  }
  if (read.empty()) return;
  for (const Slot& slot : run.slots) {
    if (slot.side != model::Side::output) continue;
    const auto print = fingerprint_of(slot);
    const auto found = print ? read.find({place_in_list(slot.index), print->count}) : read.end();
    if (found != read.end()) of_run.known[place_of(*print)] = found->second;
  }
}

const Uncertainty::Elements* Uncertainty::of(bool is_golden, const Fingerprint& print) const {
  const OfRun& run = is_golden ? of_golden_ : of_actual_;
  const auto found = run.known.find(place_of(print));
  return found == run.known.end() ? nullptr : found->second.get();
}

}  // namespace opdump::compare
