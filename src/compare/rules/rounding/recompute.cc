#include "compare/rules/rounding/recompute.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/json.h"
#include "compare/rules/rounding/conditioning.h"
#include "compare/wiring/content.h"

namespace opdump::compare {
namespace {

constexpr std::uint64_t kMaxElements = 1 << 22;
constexpr double kOwnRoundoffs = 4;  // of the terms: a kernel rounds each of its steps

// A result, and the size of what was added up for it.
struct Computed {
  double value = 0, terms = 0;
};
using Function = Computed (*)(double a, double b, double c, double factor);

// `scalar` is an argument that is a number, and may be left out if it is `value`. A comparison has no terms:
// it is exact.
struct Elementwise {
  std::string_view type;
  std::vector<std::string_view> operands;
  std::string_view scalar;
  Function compute;
};

template <typename Relation>
Computed compute_mask(double a, double b, double, double) {
  return {Relation()(a, b) ? 1. : 0., 0};
}

const Elementwise* find_elementwise(std::string_view type) {
  constexpr auto kDivide = [](double a, double b, double c, double factor) {
    const double term = factor * b / c;
    return Computed{a + term, std::abs(a) + std::abs(term)};
  };
  constexpr auto kMultiply = [](double a, double b, double c, double factor) {
    const double term = factor * b * c;
    return Computed{a + term, std::abs(a) + std::abs(term)};
  };
  static const std::vector<Elementwise> kKnown = {
      {"threshold_backward",
       {"grad_output", "self"},
       "threshold",
       [](double a, double b, double, double factor) {
         return Computed{b <= factor ? 0 : a, 0};
       }},
      {"sigmoid_backward",
       {"grad_output", "output"},
       "",
       [](double a, double b, double, double) {
         return Computed{a * (1 - b) * b, std::abs(a * b) * (1 + std::abs(b))};
       }},
      {"tanh_backward",
       {"grad_output", "output"},
       "",
       [](double a, double b, double, double) {
         return Computed{a * (1 - b * b), std::abs(a) * (1 + b * b)};
       }},
      {"addcdiv", {"self", "tensor1", "tensor2"}, "value", kDivide},
      {"addcdiv_", {"self", "tensor1", "tensor2"}, "value", kDivide},
      {"addcmul", {"self", "tensor1", "tensor2"}, "value", kMultiply},
      {"addcmul_", {"self", "tensor1", "tensor2"}, "value", kMultiply},
      {"eq", {"self", "other"}, "", compute_mask<std::equal_to<>>},
      {"ne", {"self", "other"}, "", compute_mask<std::not_equal_to<>>},
      {"lt", {"self", "other"}, "", compute_mask<std::less<>>},
      {"le", {"self", "other"}, "", compute_mask<std::less_equal<>>},
      {"gt", {"self", "other"}, "", compute_mask<std::greater<>>},
      {"ge", {"self", "other"}, "", compute_mask<std::greater_equal<>>},
  };
  const auto found = std::ranges::find(kKnown, type, &Elementwise::type);
  return found == kKnown.end() ? nullptr : &*found;
}

std::optional<double> number_of(const nlohmann::ordered_json& arguments, std::string_view name) {
  const auto found = arguments.find(name);
  if (found == arguments.end()) return name == "value" ? std::optional(1.) : std::nullopt;
  return found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

// A tensor of the call, or a number as a tensor without dimensions.
std::optional<RecordedNumbers> operand_of(const dump::OperatorRun& run,
                                          const nlohmann::ordered_json& arguments, std::string_view name) {
  if (const auto number = number_of(arguments, name)) return RecordedNumbers{{}, {*number}};
  const auto found = arguments.find(name);
  if (found == arguments.end() || !found->is_object()) return std::nullopt;
  const auto index = found->find("tensor");
  if (index == found->end() || !index->is_number_unsigned()) return std::nullopt;
  return read_numbers(run, model::Side::input, index->get<std::uint64_t>(), kMaxElements);
}

// Reads an operand in the order of an output of shape `dims`, as broadcasting says.
class Broadcast {
 public:
  Broadcast(RecordedNumbers operand, const std::vector<std::int64_t>& dims)
      : values_(std::move(operand.values)), is_same_(operand.dims == dims), dims_(dims) {
    fits_ = operand.dims.size() <= dims.size();
    strides_.assign(dims.size(), 0);
    std::int64_t stride = 1;
    for (std::size_t i = operand.dims.size(), j = dims.size(); fits_ && i > 0;) {
      const std::int64_t size = operand.dims[--i];
      --j;
      fits_ = size == dims[j] || size == 1;
      if (size != 1) strides_[j] = stride;
      stride *= size;
    }
  }
  bool fits() const { return fits_; }
  double at(std::size_t index) const {
    if (is_same_) return values_[index];
    std::size_t place = 0;
    for (std::size_t i = dims_.size(); i > 0; --i) {
      const auto size = static_cast<std::size_t>(dims_[i - 1]);
      place += index % size * static_cast<std::size_t>(strides_[i - 1]);
      index /= size;
    }
    return values_[place];
  }

 private:
  std::vector<double> values_;
  bool is_same_, fits_ = true;
  std::vector<std::int64_t> dims_, strides_;
};

}  // namespace

std::optional<bool> is_computed_right(const dump::OperatorRun& run) {
  const Elementwise* known = find_elementwise(run.type);
  if (known == nullptr || run.form == nullptr) return std::nullopt;
  const nlohmann::ordered_json arguments = parse_ordered_json(run.form->arguments);
  if (!arguments.is_object()) return std::nullopt;
  const auto output = read_numbers(run, model::Side::output, 0, kMaxElements);
  const auto factor = known->scalar.empty() ? std::optional(0.) : number_of(arguments, known->scalar);
  if (!output || output->values.empty() || !factor) return std::nullopt;
  std::vector<Broadcast> operands;
  double u = 0;  // of the coarsest type: a number of a wider one may have been rounded to it
  for (const std::string_view name : known->operands) {
    auto operand = operand_of(run, arguments, name);
    if (!operand) return std::nullopt;
    operands.emplace_back(std::move(*operand), output->dims);
    if (!operands.back().fits()) return std::nullopt;
  }
  for (const dump::Slot& slot : run.slots) u = std::max(u, roundoff(slot.dtype));
  for (std::size_t i = 0; i < output->values.size(); ++i) {
    const double third = operands.size() > 2 ? operands[2].at(i) : 0, found = output->values[i];
    const auto [value, terms] = known->compute(operands[0].at(i), operands[1].at(i), third, *factor);
    const bool is_same = found == value || (std::isnan(found) && std::isnan(value));
    if (!is_same && !(std::abs(found - value) <= kOwnRoundoffs * u * terms)) return false;
  }
  return true;
}

}  // namespace opdump::compare
