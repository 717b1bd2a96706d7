#include "msaccucmp/judge/algorithms.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text/text.h"
#include "msaccucmp/judge/fusion_rules.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

// The original lists them in this order.
constexpr std::array<std::string_view, kAccuracyCount> kListed = {
    "MeanRelativeError",   "StandardDeviation",         "MeanAbsoluteError", "RelativeEuclideanDistance",
    "MaxAbsoluteError",    "KullbackLeiblerDivergence", "CosineSimilarity",  "MaxRelativeError",
    "RootMeanSquareError", "AccumulatedRelativeError"};

std::string supported(const AlgorithmRequest& request) {
  std::string list = "[";
  const auto add = [&](std::string_view name) {
    list.append(list.size() > 1 ? ", '" : "'").append(name).append("'");
  };
  for (const std::string_view name : kListed) add(name);
  for (const auto& [name, run] : request.custom) add(name);
  return list + "]";
}

Failure none_of(const std::string& names, const AlgorithmRequest& request, Log& log) {
  return log.fail(Status::algorithm, "The algorithm in " + names + " does not supported. Just supports " +
                                         supported(request) + ". Please check the select algorithm name.");
}

std::optional<Accuracy> builtin_called(std::string_view name) {
  if (name.size() == 1 && name[0] >= '0' && name[0] <= '9') return static_cast<Accuracy>(name[0] - '0');
  const auto found = std::ranges::find(kAccuracyNames, name);
  if (found == kAccuracyNames.end()) return std::nullopt;
  return static_cast<Accuracy>(found - kAccuracyNames.begin());
}

std::string name_of(Accuracy metric) { return std::string(kAccuracyNames[static_cast<std::size_t>(metric)]); }

TensorData first_of(const TensorData& data, std::uint64_t count) {
  TensorData row = data.flat();
  if (count > 0) row.shape = {static_cast<std::int64_t>(std::min(count, row.count()))};
  return row;
}

// What the original's algorithms say on the log as well.
bool is_logged(std::string_view message) {
  return message.starts_with("Failed to execute") || message.starts_with("Cannot compare");
}

}  // namespace

Outcome<AlgorithmSet> AlgorithmSet::select(const AlgorithmRequest& request, Log& log) {
  AlgorithmSet set;
  set.custom_ = request.custom;
  if (request.selection.empty())
    return log.fail(Status::invalid_parameter,
                    "There is no algorithm to select. Please select at least one algorithm.");
  const bool all = to_lower(request.selection) == "all";
  for (std::size_t i = 0; all && i < kAccuracyCount; ++i) set.add(std::string(kAccuracyNames[i]));
  const std::string selection = all ? std::string() : request.selection;
  for (const std::string_view piece : split(selection, ',')) {
    const std::string name(trim(piece));
    if (name.empty()) continue;
    if (const auto builtin = builtin_called(name))
      set.add(name_of(*builtin));
    else if (request.custom.contains(name))
      set.add(name);
    else
      log.warn("The '" + name + "' does not supported in builtin or custom. Please check the algorithm " +
               "name or algorithm index.");
  }
  if (set.names_.empty()) return none_of("'" + request.selection + "'", request, log);
  OPDUMP_TRY([[maybe_unused]] const std::monostate parsed, set.parse_options(request.options, log));
  OPDUMP_TRY([[maybe_unused]] const std::monostate resolved, set.resolve(request, log));
  return set;
}

void AlgorithmSet::add(std::string name) {
  if (std::ranges::find(names_, name) == names_.end()) names_.push_back(std::move(name));
}

// Leaves out what is of no use, and separates the user's from the built-in ones.
Outcome<std::monostate> AlgorithmSet::resolve(const AlgorithmRequest& request, Log& log) {
  const std::vector<std::string> wanted = std::move(names_);
  names_.clear();
  for (const std::string& name : wanted) {
    const auto custom = custom_.find(name);
    if (custom != custom_.end() && !custom->second) continue;
    names_.push_back(name);
    builtin_.push_back(custom == custom_.end() ? builtin_called(name) : std::nullopt);
  }
  if (!names_.empty()) return std::monostate{};
  return none_of("['" + join(wanted, "', '") + "']", request, log);
}

Outcome<std::monostate> AlgorithmSet::parse_options(const std::string& text, Log& log) {
  for (const std::string_view algorithm : split(text, ';')) {
    if (algorithm.empty()) continue;
    const auto invalid = [&] {
      return log.fail(Status::invalid_parameter,
                      "The algorithm argument ('" + std::string(algorithm) +
                          "') is invalid, just supports \"algorithm_name:name1=value1,name2=value2;\".");
    };
    const auto parts = split(algorithm, ':');
    if (parts.size() != 2 || trim(parts[0]).empty()) return invalid();
    const auto builtin = builtin_called(trim(parts[0]));
    auto& values = options_[builtin ? name_of(*builtin) : std::string(trim(parts[0]))];
    for (const std::string_view option : split(parts[1], ',')) {
      if (trim(option).empty()) continue;
      const auto pair = split(option, '=');
      if (pair.size() != 2 || trim(pair[0]).empty() || trim(pair[1]).empty()) return invalid();
      values[std::string(trim(pair[0]))] = std::string(trim(pair[1]));
    }
  }
  return std::monostate{};
}

Outcome<AlgorithmResults> AlgorithmSet::measure(const TensorData& mine, const TensorData& golden,
                                                const PairFacts& facts, std::uint64_t max_elements,
                                                unsigned threads, Log& log) const {
  if (mine.count() == 0) log.warn("The dump data size is 0 in '" + facts.my_path + "'.");
  if (golden.count() == 0) log.warn("The dump data size is 0 in '" + facts.golden_path + "'.");
  if (mine.count() != golden.count()) {
    Failure failure{Status::invalid_dump,
                    "The my output dump data size (" + std::to_string(mine.count()) + ") in '" +
                        facts.my_path + "' does not match the ground truth dump data size (" +
                        std::to_string(golden.count()) + ") in '" + facts.golden_path + "'."};
    log.warn(failure.message);
    return failure;
  }
  const TensorData left = first_of(mine, max_elements), right = first_of(golden, max_elements);
  AccuracyOptions options{{}, facts.my_path, facts.golden_path, threads, facts.is_scalar};
  for (const auto& builtin : builtin_)
    if (builtin) options.wanted.set(static_cast<std::size_t>(*builtin));
  AccuracyRow row;
  if (options.wanted.any()) {
    auto measured = measure_accuracy(left.view(), right.view(), options);
    if (!measured) return log.fail(Status::invalid_dump, measured.error().message());
    row = std::move(*measured);
  }
  const bool are_bool = left.dtype == model::DType::boolean && right.dtype == model::DType::boolean;
  AlgorithmResults results;
  results.values.reserve(names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    AlgorithmAnswer answer;
    if (builtin_[i]) {
      const auto at = static_cast<std::size_t>(*builtin_[i]);
      answer = {std::move(row.values[at]), std::move(row.reasons[at])};
    } else if (are_bool) {
      answer = {"NaN", "Algorithm " + names_[i] + " does not support Boolean types."};
    } else {
      const auto given = options_.find(names_[i]);
      auto made = custom_.at(names_[i])(
          left, right, facts, given == options_.end() ? std::map<std::string, std::string>() : given->second);
      answer = made ? std::move(*made)
                    : AlgorithmAnswer{"NaN", "Failed to execute 'compare' in '" + names_[i] + "'. " +
                                                 made.error().message};
    }
    if (is_logged(answer.message)) log.warn(answer.message);
    results.values.push_back(std::move(answer.value));
    if (!answer.message.empty()) results.messages.push_back(std::move(answer.message));
  }
  return results;
}

}  // namespace opdump::msaccucmp
