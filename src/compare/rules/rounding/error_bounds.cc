#include "compare/rules/rounding/error_bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compare/facts/element_lists.h"
#include "compare/facts/operator_kind.h"
#include "compare/rules/rounding/conditioning.h"
#include "math/convert.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

using dump::Slot;

constexpr unsigned kMostInARow = 256;  // operators that are followed
constexpr double kTermRoundoffs = 8;   // of the mean term: what the order of addition changes
// Of a tensor's own size, by which elements differ that nothing makes uncertain.
constexpr double kExactRoundoffs = 32;
// An element without a certain digit is off by up to twice its size: it may have the other sign.
constexpr double kAll = 2;

std::uint64_t size_of(const Slot& slot) {
  return slot.shape ? model::element_count(*slot.shape).value_or(0) : 0;
}

double relative_to(double bound, double value) {
  return bound == 0 ? 0 : value == 0 ? kAll : std::min(kAll, bound / std::abs(value));
}

double root_mean_square(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double x : numbers) sum += x * x;
  return numbers.empty() ? 0 : std::sqrt(sum / static_cast<double>(numbers.size()));
}

// By how much elements differ that nothing makes uncertain.
double own_rounding(const std::vector<double>& numbers, double u, double noise) {
  return std::max(kExactRoundoffs * u, noise) * root_mean_square(numbers);
}

// What an operator reads for one element of its lists, or for the only one: as many elements as it makes, or
// one for all of them.
struct BoundedNumbers {
  std::vector<double> values;
  std::shared_ptr<const ErrorBounds::Elements> bounds;

  std::size_t at(std::size_t i) const { return values.size() == 1 ? 0 : i; }
  double bound(std::size_t i) const { return (*bounds)[at(i)]; }
  double relative_bound(std::size_t i) const { return relative_to(bound(i), values[at(i)]); }
};

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

ErrorBounds::ErrorBounds(const Wiring& golden, const Wiring& actual, std::span<const OperatorPair> pairs)
    : pairs_(pairs), states_(pairs.size(), State::unseen) {
  golden_.wiring = &golden;
  actual_.wiring = &actual;
}

std::optional<std::uint32_t> ErrorBounds::maker_of(bool is_golden, std::uint32_t reader,
                                                   const Slot& input) const {
  const Wiring& wiring = *of(is_golden).wiring;
  if (!wiring.is_recorded()) {
    const auto maker = wiring.maker(reader, input);
    return maker ? std::optional(static_cast<std::uint32_t>(*maker)) : std::nullopt;
  }
  std::optional<std::uint32_t> last;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open{{reader, input.index}};
  for (unsigned i = 0; i < kMostInARow && !open.empty(); ++i) {
    const auto [of, operand] = open.back();
    open.pop_back();
    for (const std::uint32_t writer : wiring.writers(of, operand).executions) {
      if (writer >= of) continue;
      if (!wiring.is_view(writer))
        last = std::max(writer, last.value_or(writer));
      else
        for (const Slot& slot : wiring.runs().slots(writer))
          if (slot.side == model::Side::input) open.emplace_back(writer, slot.index);
    }
  }
  return last;
}

ErrorBounds::Bounds ErrorBounds::of_input(bool is_golden, std::uint32_t reader, const Slot& input,
                                          double noise) {
  const auto maker = maker_of(is_golden, reader, input);
  if (!maker) {
    // No operator made it, if that is certain.
    const Wiring& wiring = *of(is_golden).wiring;
    const Wiring::Recorded recorded = wiring.recorded(reader, input.index);
    const bool is_exact = !wiring.is_recorded() || (recorded.is_known && !recorded.maker);
    return is_exact ? std::make_shared<const Elements>(size_of(input), 0.F) : nullptr;
  }
  if (size_of(input) > room_ || !is_followed(is_golden, *maker)) return nullptr;
  const dump::Runs& runs = of(is_golden).wiring->runs();
  const auto values = numbers_of(input);
  if (!values) return nullptr;
  room_ -= values->size();
  for (const Slot& slot : runs[*maker].slots)
    if (slot.side == model::Side::output && size_of(slot) == values->size() && numbers_of(slot) == values)
      return of_output(is_golden, *maker, slot, noise);
  return nullptr;
}

const std::size_t* ErrorBounds::place_of(bool is_golden, std::uint32_t run) {
  OfRun& side = is_golden ? golden_ : actual_;
  if (side.places.empty())
    for (std::size_t place = 0; place < pairs_.size(); ++place)
      side.places.emplace(is_golden ? pairs_[place].golden : pairs_[place].actual, place);
  const auto found = side.places.find(run);
  return found == side.places.end() ? nullptr : &found->second;
}

// Of a pair that may be wrong, or that is not looked at yet, nothing is known.
bool ErrorBounds::is_followed(bool is_golden, std::uint32_t run) {
  const std::size_t* const place = place_of(is_golden, run);
  return place != nullptr && (!pairs_[*place].is_whole() || states_[*place] > State::open);
}

ErrorBounds::Bounds ErrorBounds::of_output(bool is_golden, std::uint32_t run, const Slot& output,
                                           double noise) {
  if (!is_followed(is_golden, run) || depth_ == kMostInARow) return nullptr;
  const auto [known, is_new] = known_.try_emplace({is_golden, run, output.index});
  if (!is_new) return known->second;
  const std::size_t place = *place_of(is_golden, run);
  ++depth_;
  Bounds bounds = compute(is_golden, run, output, noise);
  if (pairs_[place].is_whole() && states_[place] >= State::matching)
    bounds = measure(place, output, noise, std::move(bounds));
  --depth_;
  return known->second = std::move(bounds);
}

// Of what both runs have: by how much they differ, but for what a tolerance may hide; and by `own`, if that
// is known.
ErrorBounds::Bounds ErrorBounds::measure(std::size_t place, const Slot& output, double noise, Bounds own) {
  const OperatorPair& pair = pairs_[place];
  std::optional<std::vector<double>> sides[2];
  for (const bool is_golden : {true, false})
    for (const Slot& slot : of(is_golden).wiring->runs().slots(is_golden ? pair.golden : pair.actual))
      if (slot.side == model::Side::output && slot.index == output.index && size_of(slot) <= room_)
        sides[is_golden] = numbers_of(slot);
  if (!sides[0] || !sides[1] || sides[0]->size() != sides[1]->size()) return own;
  room_ -= sides[0]->size();
  const double most =
      states_[place] == State::rounding ? HUGE_VAL : own_rounding(*sides[1], roundoff(output.dtype), noise);
  auto bounds = std::make_shared<Elements>(sides[0]->size());
  for (std::size_t i = 0; i < bounds->size(); ++i) {
    const double difference = std::min(most, std::abs((*sides[0])[i] - (*sides[1])[i]));
    (*bounds)[i] = std::max(static_cast<float>(difference), own == nullptr ? 0.F : (*own)[i]);
  }
  return bounds;
}

ErrorBounds::Bounds ErrorBounds::compute(bool is_golden, std::uint32_t run, const Slot& output,
                                         double noise) {
  const dump::OperatorRun op = of(is_golden).wiring->runs()[run];
  const std::uint64_t size = size_of(output);
  if (size == 0 || size > room_ || !model::is_floating(output.dtype)) return nullptr;
  if (kind_of(op.type).role == OperatorRole::makes) return std::make_shared<const Elements>(size, 0.F);
  if (const auto terms = norm_of_terms(op, output)) {
    const double mean = *terms / std::sqrt(static_cast<double>(size));
    const double relative = noise + kTermRoundoffs * roundoff(output.dtype);
    return std::make_shared<const Elements>(size, static_cast<float>(relative * mean));
  }
  return compute_elementwise(is_golden, run, op, output, noise);
}

ErrorBounds::Bounds ErrorBounds::compute_elementwise(bool is_golden, std::uint32_t run,
                                                     const dump::OperatorRun& op, const Slot& output,
                                                     double noise) {
  const bool adds = model::has_trait(op.type, model::Trait::adds_elements);
  if (!adds && !model::has_trait(op.type, model::Trait::scales_elements) &&
      !model::has_trait(op.type, model::Trait::elementwise_lists))
    return nullptr;
  const std::uint64_t size = size_of(output);
  const auto values = numbers_of(output);
  if (!values) return nullptr;
  const auto lists = ElementLists::of(op.type, op.form.get());
  std::vector<BoundedNumbers> operands;
  for (const Slot& slot : op.slots) {
    if (slot.side != model::Side::input) continue;
    const auto element = lists ? lists->element_of_input(slot.index) : std::nullopt;
    if (element && *element != lists->element_of_output(output.index)) continue;
    auto numbers = numbers_of(slot);
    if (!numbers || (numbers->size() != size && numbers->size() != 1)) return nullptr;
    Bounds bounds = of_input(is_golden, run, slot, noise);
    if (bounds == nullptr || bounds->size() != numbers->size()) return nullptr;
    operands.push_back({std::move(*numbers), std::move(bounds)});
  }
  if (operands.empty()) return nullptr;
  auto all = std::make_shared<Elements>(size);
  for (std::size_t i = 0; i < size; ++i) {
    double others = 0;  // relative
    for (std::size_t k = adds ? 1 : 0; k < operands.size(); ++k) others += operands[k].relative_bound(i);
    others = std::min(others, kAll);
    const BoundedNumbers& first = operands.front();
    const double result = (*values)[i];
    (*all)[i] =
        static_cast<float>(adds ? first.bound(i) + others * std::abs(result - first.values[first.at(i)])
                                : others * std::abs(result));
  }
  return all;
}

bool ErrorBounds::explain_input(std::size_t place, const Slot& golden, const Slot& actual, double noise) {
  const OperatorPair& pair = pairs_[place];
  if (!pair.is_whole() || golden.shape != actual.shape || size_of(golden) > room_) return false;
  const Bounds of_golden = of_input(true, pair.golden, golden, noise);
  const Bounds of_actual = of_golden ? of_input(false, pair.actual, actual, noise) : nullptr;
  if (of_actual == nullptr || of_actual->size() != of_golden->size()) return false;
  const auto g = numbers_of(golden), a = numbers_of(actual);
  if (!g || !a || g->size() != of_golden->size() || a->size() != g->size()) return false;
  const double u = std::max(roundoff(golden.dtype), roundoff(actual.dtype));
  const double own = own_rounding(*g, u, noise);
  for (std::size_t i = 0; i < g->size(); ++i)
    if (!(std::abs((*g)[i] - (*a)[i]) <= own + (*of_golden)[i] + (*of_actual)[i])) return false;
  return true;
}

}  // namespace opdump::compare
