#include "blame/evidence.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "base/text/text.h"

namespace opdump::blame {
namespace {

using nlohmann::json;

// JSON has no infinity: the worker writes it as a text.
double number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr) : 0;
}

double number_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? 0 : number_of(*found);
}

Thresholds limits_of(const json& object, const char* key, const Thresholds& usual) {
  const auto found = object.find(key);
  if (found == object.end()) return usual;
  const auto limits = found->get<std::vector<double>>();
  if (limits.size() != 3 || std::ranges::any_of(limits, [](double limit) { return !(limit > 0); }))
    return usual;
  return {.r = limits[0], .rho = limits[1], .alpha = limits[2]};
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
    error.chance = number_of(of, "chance");
    error.worst = of.value("worst", std::vector<std::int64_t>());
    error.value = number_of(of, "value");
    error.reference = number_of(of, "reference");
    error.limits = limits_of(of, "limits", error.limits);
    error.certain = limits_of(of, "certain", error.certain);
    if (of.contains("beyond")) error.beyond = number_of(of, "beyond");
    error.is_sum = of.value("sum", false);
    error.odd = of.value("odd", std::uint64_t{0});
    error.precision = of.value("inputs", "");
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
  if (reply.contains("shares")) {
    for (const auto& [index, share] : reply.at("shares").items())
      replayed.shares.emplace_back(static_cast<std::uint32_t>(parse_uint64(index).value_or(0)),
                                   share.is_number() ? share.get<double>() : 0);
    return replayed;
  }
  if (reply.contains("ends")) {
    for (const auto& [index, distances] : reply.at("ends").items())
      replayed.ends.push_back({.index = static_cast<std::uint32_t>(parse_uint64(index).value_or(0)),
                               .before = number_of(distances.at(0)),
                               .after = number_of(distances.at(1))});
    for (const auto& [index, made] : reply.at("made").items()) {
      compare::TensorPrint print{.mean = number_of(made.at(1)),
                                 .norm = number_of(made.at(2)),
                                 .least = number_of(made.at(3)),
                                 .greatest = number_of(made.at(4))};
      print.exact.count = made.at(0).get<std::uint64_t>();
      replayed.made.emplace_back(static_cast<std::uint32_t>(parse_uint64(index).value_or(0)), print);
    }
    return replayed;
  }
  if (reply.contains("argument") && !reply.at("argument").is_null())
    replayed.argument = parse_outputs(reply.at("argument"));
  replayed.is_sum = reply.value("sum", false);
  const json& sides = reply.at("sides");
  if (sides.contains("golden")) replayed.golden = parse_outputs(sides.at("golden"));
  if (sides.contains("actual")) replayed.actual = parse_outputs(sides.at("actual"));
  return replayed;
}

std::string times(double factor) { return format_g(factor) + " times what rounding explains"; }

constexpr double kChances = 8;  // as much as the limit of the whole error admits

// Roundings of few different values can all go the same way.
double bias_limit(const OutputError& error, double limit) { return std::max(limit, kChances * error.chance); }

bool is_certain(const OutputError& error) {
  if (error.beyond) return *error.beyond > 1;
  const Thresholds& limits = error.certain;
  return error.r > limits.r || error.rho > limits.rho ||
         error.alpha > 4 * bias_limit(error, limits.alpha / 4);
}

// Finds the test by which the error of an output is beyond rounding, and how far.
Excess find_excess(const OutputError& error) {
  if (error.wrong) {
    if (*error.wrong == 0) return {.factor = 0, .is_certain = false, .output = &error, .test = {}};
    return {.factor = std::numeric_limits<double>::infinity(),
            .is_certain = true,
            .output = &error,
            .test = std::to_string(*error.wrong) + " of " + counted(error.count, "element") +
                    inflect(*error.wrong, " is", " are") + " wrong"};
  }
  const Thresholds& limits = error.limits;
  Excess excess{.factor = error.r / limits.r,
                .is_certain = is_certain(error),
                .output = &error,
                .test = "error " + times(error.r)};
  if (error.rho / limits.rho > excess.factor) {
    excess.factor = error.rho / limits.rho;
    excess.test = "error of one element " + times(error.rho);
  }
  const double alpha = error.alpha / bias_limit(error, limits.alpha);
  if (alpha > excess.factor) {
    excess.is_bias = excess.factor <= 1;
    excess.factor = alpha;
    excess.test = "all elements are off in the same direction";
  }
  if (excess.factor <= 1 && error.odd > 0) {
    excess.factor = 2;
    excess.test = std::to_string(error.odd) + " of " + counted(error.count, "element") +
                  inflect(error.odd, " is", " are") +
                  " not what the same kernel makes, and all others are, to the last bit";
  }
  if (!error.precision.empty())
    excess.test +=
        (error.precision.ends_with("sums") ? ": it has " : ": its inputs are rounded to ") + error.precision;
  return excess;
}

double worst_relative(const std::vector<OutputError>& outputs) {
  double worst = 0;
  for (const OutputError& output : outputs) worst = std::max(worst, output.relative);
  return worst;
}

bool has_wrong(const Excess& excess) { return excess.output != nullptr && excess.output->wrong.has_value(); }

bool has_precision(const Excess& excess) {
  return excess.output != nullptr && !excess.output->precision.empty();
}

}  // namespace

Result<Replayed> parse_replayed(std::string_view text) {
  const json reply = parse_json(text);
  try {
    return parse(reply);
  } catch (const json::exception& error) {
    return Error(Code::internal, std::string("an answer of the replay: ") + error.what());
  }
}

Result<Replayed> run_again(const Replay& replay, std::string request) {
  const auto reply = replay(std::move(request));
  if (reply) return parse_replayed(*reply);
  Replayed replayed;
  replayed.has_ended = reply.error().code() == Code::internal;
  if (!replayed.has_ended && reply.error().code() != Code::unsupported) return reply.error();
  replayed.reason = reply.error().message();
  if (replayed.has_ended && replayed.reason.ends_with("(SIGKILL)")) replayed.reason += ": out of memory?";
  return replayed;
}

Result<> parse_acknowledged(std::string_view text) {
  const json reply = parse_json(text);
  if (!reply.is_object()) return Error(Code::internal, "an answer of the replay is no JSON object");
  if (reply.value("ok", false)) return ok();
  return Error(Code::config, reply.value("reason", "the replay gives no reason"));
}

Excess find_excess(const std::vector<OutputError>& outputs) {
  Excess worst;
  for (const OutputError& output : outputs) {
    Excess excess = find_excess(output);
    if (excess.factor > worst.factor || worst.output == nullptr) worst = std::move(excess);
  }
  return worst;
}

Judgement judge(const Replayed& replayed) {
  const Excess golden = find_excess(replayed.golden), actual = find_excess(replayed.actual);
  Judgement judgement;
  judgement.excess = actual.factor >= golden.factor ? actual : golden;
  if (judgement.excess.factor <= 1) return judgement;
  judgement.is_certain = judgement.excess.is_certain;
  if (golden.factor <= 1 || actual.factor <= 1) {
    judgement.fault = golden.factor <= 1 ? Fault::actual : Fault::golden;
    return judgement;
  }
  // One is off because it computes with less precision; the other one has no such reason.
  if (has_precision(golden) != has_precision(actual)) {
    judgement.fault = has_precision(golden) ? Fault::actual : Fault::golden;
    judgement.excess = has_precision(golden) ? actual : golden;
    judgement.is_certain = judgement.excess.is_certain;
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
