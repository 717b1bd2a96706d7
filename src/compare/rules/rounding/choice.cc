#include "compare/rules/rounding/choice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/json.h"
#include "compare/wiring/content.h"

namespace opdump::compare {
namespace {

constexpr std::uint64_t kMostElements = 1 << 24;

struct ChoosingKind {
  std::string_view type;
  bool has_values = false;  // its first output; the places are the second one then
  bool is_pool = false;     // places are those of a plane of two axes
  bool is_least = false;    // of the smallest numbers, if no argument says so
};

const ChoosingKind* find_choice(std::string_view type) {
  static const ChoosingKind kKnown[] = {
      {.type = "topk", .has_values = true},
      {.type = "sort", .has_values = true, .is_least = true},
      {.type = "max", .has_values = true},
      {.type = "min", .has_values = true, .is_least = true},
      {.type = "argmax"},
      {.type = "argmin", .is_least = true},
      {.type = "max_pool2d_with_indices", .has_values = true, .is_pool = true},
      {.type = "adaptive_max_pool2d", .has_values = true, .is_pool = true},
  };
  const auto found = std::ranges::find(kKnown, type, &ChoosingKind::type);
  return found == std::end(kKnown) ? nullptr : &*found;
}

std::size_t product(const std::vector<std::int64_t>& dims, std::size_t first, std::size_t last) {
  std::size_t size = 1;
  for (std::size_t i = first; i < last; ++i) size *= static_cast<std::size_t>(dims[i]);
  return size;
}

// How a tensor falls into lines of numbers among which the operator chooses.
struct ChoiceLines {
  std::size_t outer = 1, length = 1, inner = 1;
};

std::optional<ChoiceLines> lines_of(const std::vector<std::int64_t>& dims, const ChoosingKind& choice,
                                    const nlohmann::ordered_json& arguments) {
  const std::size_t rank = dims.size();
  if (choice.is_pool) {
    if (rank < 2) return std::nullopt;
    return ChoiceLines{product(dims, 0, rank - 2), product(dims, rank - 2, rank), 1};
  }
  const auto dim = arguments.find("dim");
  if (dim == arguments.end() || !dim->is_number_integer()) return ChoiceLines{1, product(dims, 0, rank), 1};
  const auto given = dim->get<std::int64_t>();
  const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(rank) : given);
  if (axis >= rank) return rank == 0 ? std::optional(ChoiceLines()) : std::nullopt;
  return ChoiceLines{product(dims, 0, axis), static_cast<std::size_t>(dims[axis]),
                     product(dims, axis + 1, rank)};
}

bool is_set(const nlohmann::ordered_json& arguments, std::string_view name, bool otherwise) {
  const auto found = arguments.find(name);
  return found != arguments.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

// Checks one line: the places are different, their numbers are in order if `is_sorted`, and no other number
// is larger.
bool is_best(const std::vector<double>& line, const std::vector<std::size_t>& places, bool is_sorted) {
  std::vector<bool> is_chosen(line.size());
  double last = line[places.front()];
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double value = line[places[i]];
    if (is_chosen[places[i]] || (is_sorted && value > last)) return false;
    is_chosen[places[i]] = true;
    last = std::min(last, value);
  }
  for (std::size_t i = 0; i < line.size(); ++i)
    if (!is_chosen[i] && line[i] > last) return false;
  return true;
}

}  // namespace

std::optional<bool> chooses_right(const dump::OperatorRun& run) {
  const ChoosingKind* choice = find_choice(run.type);
  if (choice == nullptr || run.form == nullptr) return std::nullopt;
  const nlohmann::ordered_json arguments = parse_ordered_json(run.form->arguments);
  if (!arguments.is_object()) return std::nullopt;
  const auto input = read_numbers(run, model::Side::input, 0, kMostElements);
  const auto values = choice->has_values ? read_numbers(run, model::Side::output, 0, kMostElements)
                                         : std::optional(RecordedNumbers());
  const auto places = read_numbers(run, model::Side::output, choice->has_values ? 1 : 0, kMostElements);
  if (!input || !values || !places || input->values.empty() || places->values.empty()) return std::nullopt;
  if (std::ranges::any_of(input->values, [](double x) { return std::isnan(x); })) return std::nullopt;
  const auto lines = lines_of(input->dims, *choice, arguments);
  if (!lines || places->values.size() % (lines->outer * lines->inner) != 0 ||
      (choice->has_values && values->values.size() != places->values.size()))
    return std::nullopt;
  const bool is_least = choice->type == "topk"   ? !is_set(arguments, "largest", true)
                        : choice->type == "sort" ? !is_set(arguments, "descending", false)
                                                 : choice->is_least;
  const bool is_sorted = choice->type != "topk" || is_set(arguments, "sorted", true);
  const std::size_t chosen = places->values.size() / (lines->outer * lines->inner);
  std::vector<double> line(lines->length);
  std::vector<std::size_t> of_line(chosen);
  for (std::size_t i = 0; i < lines->outer * lines->inner; ++i) {
    const std::size_t outer = i / lines->inner, inner = i % lines->inner;
    for (std::size_t j = 0; j < line.size(); ++j) {
      const double value = input->values[(outer * line.size() + j) * lines->inner + inner];
      line[j] = is_least ? -value : value;
    }
    for (std::size_t j = 0; j < chosen; ++j) {
      const std::size_t at = (outer * chosen + j) * lines->inner + inner;
      const double place = places->values[at];
      if (!(place >= 0 && place < static_cast<double>(line.size()))) return false;
      of_line[j] = static_cast<std::size_t>(place);
      if (choice->has_values && values->values[at] != (is_least ? -1 : 1) * line[of_line[j]]) return false;
    }
    if (!choice->is_pool && !is_best(line, of_line, is_sorted)) return false;
  }
  return true;
}

}  // namespace opdump::compare
