#include "dump/read/tree_location.h"

#include <algorithm>

#include "base/text/text.h"
#include "dump/tensor_names.h"

namespace opdump::dump {
namespace {

constexpr std::size_t kTimeDigits = 14;  // YYYYMMDDhhmmss

std::optional<std::uint32_t> find_number(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = parse_uint64(name.substr(prefix.size()));
  if (!number || *number > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

// Below the directory of the time at `at`: device, net, graph, step.
Location in_time_directory(std::span<const std::string> trail, std::size_t at, std::size_t first_inside) {
  const auto below = trail.subspan(at + 1);
  Location location{.scheme = Scheme::time_tree, .rank = *find_number(below[0], ""), .root_length = at};
  location.is_tree = true;
  if (below.size() >= 2) location.net_length = at + 3;
  if (below.size() >= 3) location.graph_id = parse_int64(below[2]).value_or(0);
  const std::int64_t inner = below.size() >= 4 ? parse_int64(below[3]).value_or(-1) : -1;
  location.step = std::max<std::int64_t>(inner, 0);
  if (const auto rank = at > 0 ? find_global_rank(trail[at - 1]) : std::nullopt) {
    location.rank = *rank;
    location.has_rank = true;
    location.root_length = at - 1;
  }
  const auto outer = at > 0 ? parse_int64(trail[at - 1]) : std::nullopt;
  if (!outer || (at - 1 < first_inside && *outer != inner)) return location;
  location.scheme = Scheme::model_tree;
  location.step = *outer;
  location.root_length = at - 1;
  return location;
}

std::optional<Location> in_some_time_directory(std::span<const std::string> trail, std::size_t first_inside) {
  for (std::size_t below = 1; below <= 4 && below < trail.size(); ++below) {
    const std::size_t at = trail.size() - 1 - below;
    if (is_time(trail[at]) && find_number(trail[at + 1], ""))
      return in_time_directory(trail, at, first_inside);
  }
  return std::nullopt;
}

std::optional<Location> in_legacy_tree(std::span<const std::string> trail) {
  const std::size_t count = trail.size();
  if (count < 3) return std::nullopt;
  const auto step = find_number(trail[count - 1], "iteration_");
  const auto device = find_number(trail[count - 2], "device_");
  if (!step || !device) return std::nullopt;
  return Location{.scheme = Scheme::legacy,
                  .rank = *device,
                  .step = *step,
                  .net_length = count - 2,
                  .root_length = count - 3,
                  .is_tree = true};
}

// worldsize{W}_global_rank{R}/graph_{graph}/{step}
std::optional<Location> in_eager_tree(std::span<const std::string> trail) {
  const std::size_t count = trail.size();
  if (count < 3) return std::nullopt;
  const auto rank = find_global_rank(trail[count - 3]);
  const auto graph = find_number(trail[count - 2], "graph_");
  const auto step = parse_int64(trail[count - 1]);
  if (!rank || !graph || !step) return std::nullopt;
  return Location{.rank = *rank,
                  .graph_id = *graph,
                  .step = *step,
                  .root_length = count - 3,
                  .has_rank = true,
                  .is_tree = true};
}

// rank_{R}/graph_{graph}[/step_{step}]: without a step, that of archives which are steps.
std::optional<Location> in_converted_tree(std::span<const std::string> trail) {
  const std::size_t count = trail.size();
  const auto step = count > 0 ? find_number(trail[count - 1], "step_") : std::nullopt;
  const std::size_t at = step ? 2 : 1;  // of the graph, from the end
  if (count <= at) return std::nullopt;
  const auto graph = find_number(trail[count - at], "graph_");
  const auto rank = find_rank(trail[count - at - 1]);
  if (!graph || !rank) return std::nullopt;
  return Location{.rank = *rank,
                  .graph_id = *graph,
                  .step = step.value_or(0),
                  .root_length = count - at - 1,
                  .has_rank = true,
                  .is_tree = true};
}

// step{step}/rank{R} or step{step}/proc{pid}; older releases: step{step}/rank
std::optional<Location> in_msprobe_tree(std::span<const std::string> trail) {
  const std::size_t count = trail.size();
  if (count < 2) return std::nullopt;
  const auto step = find_number(trail[count - 2], "step");
  const std::string& last = trail[count - 1];
  const auto rank = last == "rank" ? std::optional<std::uint32_t>(0) : find_number(last, "rank");
  const auto process = find_number(last, "proc");
  if (!step || (!rank && !process)) return std::nullopt;
  return Location{.rank = rank ? *rank : *process,
                  .step = *step,
                  .root_length = count - 2,
                  .has_rank = true,
                  .is_process = !rank,
                  .is_tree = true};
}

}  // namespace

bool is_time(std::string_view directory_name) {
  return directory_name.size() == kTimeDigits && parse_uint64(directory_name).has_value();
}

std::optional<std::uint32_t> find_rank(std::string_view directory_name) {
  return find_number(directory_name, "rank_");
}

Location locate(std::span<const std::string> trail, std::size_t first_inside) {
  if (const auto location = in_some_time_directory(trail, first_inside)) return *location;
  if (const auto location = in_legacy_tree(trail)) return *location;
  if (const auto location = in_eager_tree(trail)) return *location;
  if (const auto location = in_converted_tree(trail)) return *location;
  if (const auto location = in_msprobe_tree(trail)) return *location;
  constexpr std::size_t kRankDepth = 4;  // rank, net, graph, step
  Location location;
  const std::size_t count = trail.size();
  if (count >= 1) {
    location.constants = trail[count - 1] == "constants";
    location.step =
        parse_int64(trail[count - 1]).value_or(find_number(trail[count - 1], "test_data_set_").value_or(0));
  }
  if (count >= 2) location.graph_id = parse_int64(trail[count - 2]).value_or(0);
  if (count >= 3) location.net_length = count - 2;
  for (std::size_t up = 1; up <= std::min(count, kRankDepth); ++up) {
    if (const auto rank = find_rank(trail[count - up])) {
      location.rank = *rank;
      location.root_length = count - up;
      location.has_rank = location.is_tree = true;
      break;
    }
  }
  return location;
}

}  // namespace opdump::dump
