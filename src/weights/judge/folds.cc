#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text/text.h"
#include "weights/elements.h"
#include "weights/judge/judge.h"
#include "weights/match/names.h"
#include "weights/rounding.h"

namespace opdump::weights {
namespace {

using model::DType;
using Vector = std::vector<double>;

constexpr std::uint64_t kMostRead = 64 << 20;  // elements that are in memory at a time
constexpr double kEpsilons[] = {1e-5, 1e-3, 1e-6, 1e-4, 1e-8, 1e-12, 1e-2};

// Empty if it cannot be read, or is too large.
Vector read_all(const WeightTensor& tensor, bool swapped = false) {
  if (matrix_of(tensor.shape()).count() > kMostRead) return {};
  const auto elements = WeightElements::open(tensor, swapped);
  if (!elements) return {};
  Vector numbers(elements->shape().count());
  elements->read(0, numbers.size(), numbers.data());
  return numbers;
}

// How far a product that was computed in the type may be off, relative to its number.
double tolerance_of(DType golden, DType actual) {
  const std::size_t bits = std::min(model::dtype_info(golden).bits, model::dtype_info(actual).bits);
  if (bits >= 32) return 1e-5;
  return golden == DType::float16 || actual == DType::float16 ? 0x1p-9 : 0x1p-6;
}

bool are_close(const Vector& expected, const Vector& actual, double tolerance) {
  if (expected.size() != actual.size() || expected.empty()) return false;
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!(std::abs(expected[i] - actual[i]) <= tolerance * (std::abs(expected[i]) + 0.01 * largest)))
      return false;
  return true;
}

// ---- A norm that computes x * (1 + weight).

bool has_added_one(const Vector& golden, const Vector& actual, DType to, double one) {
  for (std::size_t i = 0; i < golden.size(); ++i) {
    double expected = golden[i] + one;
    if (can_round_to(to)) round_to(to, &expected, 1);
    if (expected != actual[i]) return false;
  }
  return !golden.empty();
}

void explain_ones(Matching& matching) {
  for (LinkResult& result : matching.links) {
    if (result.distance.is_equal || !result.fault.empty()) continue;
    const WeightTensor &g = matching.golden[result.link.golden], &a = matching.actual[result.link.actual];
    if (role_of(plain_name(g.name)) != WeightRole::norm || g.shape().rank() != 1 || !(g.shape() == a.shape()))
      continue;
    if (result.distance.actual_least == result.distance.actual_most) continue;  // ones that were never loaded
    const Vector golden = read_all(g), actual = read_all(a);
    for (const double one : {1.0, -1.0})
      if (has_added_one(golden, actual, a.dtype(), one) || has_added_one(actual, golden, g.dtype(), -one)) {
        result.is_excused = true;
        result.after.push_back(one > 0 ? "1 added, for a norm that computes weight instead of 1 + weight"
                                       : "1 taken away, for a norm that computes 1 + weight");
        break;
      }
  }
}

// ---- A batch norm that was folded into the convolution or the linear layer before it.

struct BatchNorm {
  std::string name;
  std::size_t weight, bias, mean, var;  // in golden
};

std::vector<BatchNorm> free_batch_norms(const Matching& matching) {
  std::vector<BatchNorm> norms;
  for (const std::size_t mean : matching.golden.free()) {
    const std::string& name = matching.golden[mean].name;
    if (leaf_of(name) != "running_mean") continue;
    const std::string parent(parent_of(name));
    const auto weight = matching.golden.find(parent + ".weight"),
               bias = matching.golden.find(parent + ".bias"),
               var = matching.golden.find(parent + ".running_var");
    if (weight && bias && var) norms.push_back({parent, *weight, *bias, mean, *var});
  }
  return norms;
}

// golden with each row multiplied by its factor.
Vector with_factors(Vector numbers, const Vector& factors) {
  const std::size_t columns = numbers.size() / factors.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] *= factors[i / columns];
  return numbers;
}

// The factors of the norm with the epsilon by which `golden` becomes `actual`; empty if there is none.
Vector find_factors(const Matching& matching, const BatchNorm& norm, const Vector& golden,
                    const Vector& actual, double tolerance) {
  const Vector gain = read_all(matching.golden[norm.weight]), var = read_all(matching.golden[norm.var]);
  if (gain.empty() || gain.size() != var.size() || golden.size() % gain.size() != 0) return {};
  for (const double epsilon : kEpsilons) {
    Vector factors(gain.size());
    for (std::size_t i = 0; i < gain.size(); ++i) factors[i] = gain[i] / std::sqrt(var[i] + epsilon);
    if (are_close(with_factors(golden, factors), actual, tolerance)) return factors;
  }
  return {};
}

// actual's bias: golden's, or 0, moved and scaled.
void fold_bias(Matching& matching, const BatchNorm& norm, const Vector& factors, LinkResult& weight) {
  const std::string golden_name = std::string(parent_of(matching.golden[weight.link.golden].name)) + ".bias",
                    actual_name = std::string(parent_of(matching.actual[weight.link.actual].name)) + ".bias";
  LinkResult* linked = nullptr;
  for (LinkResult& result : matching.links)
    if (matching.actual[result.link.actual].name == actual_name) linked = &result;
  const auto free = matching.actual.find(actual_name);
  if (linked == nullptr && !free) return weight.doubts.push_back("without the bias of " + norm.name);
  Vector expected(factors.size(), 0);
  if (linked != nullptr) expected = read_all(matching.golden[linked->link.golden]);
  const Vector shift = read_all(matching.golden[norm.bias]), mean = read_all(matching.golden[norm.mean]);
  if (expected.size() != factors.size() || shift.size() != factors.size() || mean.size() != factors.size())
    return;
  for (std::size_t i = 0; i < factors.size(); ++i)
    expected[i] = shift[i] + (expected[i] - mean[i]) * factors[i];
  const WeightTensor& bias = matching.actual[linked != nullptr ? linked->link.actual : *free];
  constexpr double kLoose = 10;  // the terms cancel
  const bool is_right = are_close(expected, read_all(bias),
                                  kLoose * tolerance_of(matching.golden[norm.bias].dtype(), bias.dtype()));
  if (linked != nullptr && is_right) {
    linked->is_excused = true;
    linked->after.push_back(norm.name + " folded into it");
  }
  if (free) {
    WeightLink link{norm.bias, *free, FoundBy::sibling, {}, {}, {}, 0};
    link.arrangement.is_flat = true;
    LinkResult result = measure_pair(matching, std::move(link));
    result.is_excused = is_right && !result.distance.is_equal;
    result.after.push_back(norm.name + " folded into it");
    if (!is_right) result.notes.push_back("it is not what folding " + norm.name + " gives");
    matching.golden.cover(norm.bias, factors.size(), factors.size());
    matching.actual.cover(*free, factors.size(), factors.size());
    matching.links.push_back(std::move(result));
  }
}

void explain_batch_norms(Matching& matching) {
  for (const BatchNorm& norm : free_batch_norms(matching)) {
    const auto size = matrix_of(matching.golden[norm.weight].shape()).count();
    for (std::size_t i = 0; i < matching.links.size(); ++i) {
      LinkResult& result = matching.links[i];
      const WeightTensor &g = matching.golden[result.link.golden], &a = matching.actual[result.link.actual];
      if (result.distance.is_equal || result.is_excused || g.shape().rank() < 2 ||
          !(g.shape() == a.shape()) || static_cast<std::uint64_t>(g.shape()[0]) != size)
        continue;
      const Vector factors =
          find_factors(matching, norm, read_all(g), read_all(a), tolerance_of(g.dtype(), a.dtype()));
      if (factors.empty()) continue;
      result.is_excused = true;
      result.after.push_back(norm.name + " folded into it");
      for (const std::size_t part : {norm.weight, norm.mean, norm.var})
        matching.golden.cover(part, size, size);
      const std::string name = a.name;
      for (const std::size_t part : {norm.weight, norm.mean, norm.var}) matching.folded[part] = name;
      LinkResult copy = result;
      fold_bias(matching, norm, factors, copy);
      matching.links[i].doubts = copy.doubts;
      if (matching.golden.is_free(norm.bias)) {
        matching.golden.cover(norm.bias, size, size);
        matching.folded[norm.bias] = name;
      }
      break;
    }
  }
}

// ---- The gain of a norm that was folded into the products behind it.

void explain_gains(Matching& matching) {
  std::vector<LinkResult*> norms;
  for (LinkResult& result : matching.links)
    if (!result.distance.is_equal && !result.is_excused && result.fault.empty() &&
        result.distance.actual_least == 1 && result.distance.actual_most == 1 &&
        matching.golden[result.link.golden].shape().rank() == 1)
      norms.push_back(&result);
  for (LinkResult* const norm : norms) {
    const std::string name = matching.golden[norm->link.golden].name;
    const Vector gain = read_all(matching.golden[norm->link.golden]);
    std::vector<std::string> into;
    for (LinkResult& result : matching.links) {
      const WeightTensor &g = matching.golden[result.link.golden], &a = matching.actual[result.link.actual];
      if (result.distance.is_equal || result.is_excused || !(g.shape() == a.shape()) ||
          g.shape().rank() != 2 || static_cast<std::uint64_t>(g.shape()[1]) != gain.size())
        continue;
      Vector expected = read_all(g);
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= gain[i % gain.size()];
      if (!are_close(expected, read_all(a), tolerance_of(g.dtype(), a.dtype()))) continue;
      result.is_excused = true;
      result.after.push_back(name + " folded into it");
      into.push_back(a.name);
    }
    if (into.empty()) continue;
    norm->is_excused = true;
    norm->after.push_back("folded into " + into.front() +
                          (into.size() > 1 ? " and " + counted(into.size() - 1, "other") : ""));
  }
}

}  // namespace

void explain_folds(Matching& matching) {
  explain_ones(matching);
  explain_batch_norms(matching);
  explain_gains(matching);
}

}  // namespace opdump::weights
