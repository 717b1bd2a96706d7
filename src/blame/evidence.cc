#include "blame/evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text/text.h"

namespace opdump::blame {
namespace {

using nlohmann::json;

// JSON has no infinity: the worker writes it as a text.
double number_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  if (found->is_number()) return found->get<double>();
  return found->is_string() ? std::strtod(found->get<std::string>().c_str(), nullptr) : 0;
}

std::vector<OutputError> parse_outputs(const json& outputs) {
  std::vector<OutputError> errors;
  for (const auto& [index, of] : outputs.items()) {
    OutputError& error = errors.emplace_back();
    error.index = static_cast<std::uint32_t>(parse_uint64(index).value_or(0));
    error.count = of.value("count", std::uint64_t{0});
    if (of.contains("wrong")) error.wrong = of.at("wrong").get<std::uint64_t>();
    error.r = number_of(of, "r");
    error.rho = number_of(of, "rho");
    error.alpha = number_of(of, "alpha");
    error.relative = number_of(of, "relative");
    error.independent = number_of(of, "independent");
    error.worst = of.value("worst", std::vector<std::int64_t>());
    error.value = number_of(of, "value");
    error.reference = number_of(of, "reference");
  }
  return errors;
}

Replayed parse(const json& reply) {
  Replayed replayed;
  replayed.is_done = reply.at("ok").get<bool>();
  if (!replayed.is_done) {
    replayed.is_random = reply.value("random", false);
    replayed.reason = reply.value("reason", "");
    return replayed;
  }
  const json& sides = reply.at("sides");
  if (sides.contains("golden")) replayed.golden = parse_outputs(sides.at("golden"));
  if (sides.contains("actual")) replayed.actual = parse_outputs(sides.at("actual"));
  return replayed;
}

std::string times(double factor) { return format_g(factor) + " times what rounding explains"; }

// By which test the error of an output is beyond rounding, and how far.
Excess find_excess(const OutputError& error, const Thresholds& limits) {
  if (error.wrong) {
    if (*error.wrong == 0) return {.factor = 0, .output = &error, .test = {}};
    return {.factor = std::numeric_limits<double>::infinity(),
            .output = &error,
            .test = std::to_string(*error.wrong) + " of " + counted(error.count, "element") +
                    (*error.wrong == 1 ? " is" : " are") + " wrong"};
  }
  Excess excess{.factor = error.r / limits.r, .output = &error, .test = "error " + times(error.r)};
  if (error.rho / limits.rho > excess.factor)
    excess = {.factor = error.rho / limits.rho,
              .output = &error,
              .test = "error of one element " + times(error.rho)};
  // Roundings of few different values can all go the same way.
  const double by_chance = 4 / std::sqrt(std::max(error.independent, 1.0));
  const double alpha = error.alpha / std::max(limits.alpha, by_chance);
  if (alpha > excess.factor)
    excess = {.factor = alpha,
              .output = &error,
              .test = "all elements are off in the same direction",
              .is_bias = excess.factor <= 1};
  return excess;
}

double worst_relative(const std::vector<OutputError>& outputs) {
  double worst = 0;
  for (const OutputError& output : outputs) worst = std::max(worst, output.relative);
  return worst;
}

bool has_wrong(const Excess& excess) { return excess.output != nullptr && excess.output->wrong.has_value(); }

}  // namespace

Result<Replayed> parse_replayed(std::string_view text) {
  const json reply = json::parse(text, nullptr, false);
  try {
    return parse(reply);
  } catch (const json::exception& error) {
    return Error(Code::internal, std::string("an answer of the replay: ") + error.what());
  }
}

Thresholds thresholds_for(std::string_view type) {
  constexpr std::array<std::string_view, 20> kRoundedOnce = {
      "add",      "add_", "sub",   "sub_",       "rsub",    "mul",          "mul_",
      "div",      "div_", "sqrt",  "sqrt_",      "addcmul", "addcmul_",     "addcdiv",
      "addcdiv_", "lerp", "lerp_", "reciprocal", "square",  "_foreach_add_"};
  if (std::ranges::find(kRoundedOnce, type) != kRoundedOnce.end()) return {.r = 3, .rho = 6, .alpha = 0.35};
  return {};
}

Excess find_excess(const std::vector<OutputError>& outputs, std::string_view type) {
  Excess worst;
  for (const OutputError& output : outputs) {
    Excess excess = find_excess(output, thresholds_for(type));
    if (excess.factor > worst.factor || worst.output == nullptr) worst = std::move(excess);
  }
  return worst;
}

Judgement judge(const Replayed& replayed, std::string_view type) {
  const Excess golden = find_excess(replayed.golden, type), actual = find_excess(replayed.actual, type);
  Judgement judgement;
  judgement.excess = actual.factor >= golden.factor ? actual : golden;
  judgement.is_certain = judgement.excess.factor >= kCertain;
  if (judgement.excess.factor <= 1) return judgement;
  if (golden.factor <= 1 || actual.factor <= 1) {
    judgement.fault = golden.factor <= 1 ? Fault::actual : Fault::golden;
    return judgement;
  }
  // Both are beyond it. Equal errors mean that both did the same, and not what was run again.
  const double g =
      has_wrong(golden) ? static_cast<double>(*golden.output->wrong) : worst_relative(replayed.golden);
  const double a =
      has_wrong(actual) ? static_cast<double>(*actual.output->wrong) : worst_relative(replayed.actual);
  constexpr double kMuch = 4;
  const bool are_biased = golden.is_bias && actual.is_bias;
  judgement.fault = a > kMuch * g   ? Fault::actual
                    : g > kMuch * a ? Fault::golden
                    : are_biased    ? Fault::none
                                    : Fault::common;
  judgement.is_certain = judgement.is_certain && judgement.fault != Fault::common;
  return judgement;
}

}  // namespace opdump::blame
