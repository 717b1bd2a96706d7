#include "dump/read/networks.h"

#include <algorithm>

#include "base/text/text.h"

namespace opdump::dump {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kNamed = 20;  // networks that a problem names

// The models of one recording lie next to each other.
bool are_models(Scheme scheme, const std::set<std::string>& networks) {
  if (networks.size() < 2 || (scheme != Scheme::model_tree && scheme != Scheme::time_tree)) return false;
  const fs::path parent = fs::path(*networks.begin()).parent_path();
  return std::ranges::all_of(networks,
                             [&](const std::string& path) { return fs::path(path).parent_path() == parent; });
}

std::string list_of(const std::set<std::string>& networks) {
  std::string text;
  std::size_t named = 0;
  for (const std::string& network : networks) {
    if (named == kNamed) return text + " and " + std::to_string(networks.size() - kNamed) + " more";
    text += (named++ > 0 ? ", " : "") + network;
  }
  return text;
}

}  // namespace

std::string Networks::add(const StepDirectory& step) {
  const Location& location = step.location;
  // Only {net}/{graph}/{step} counts as a recording in any folder.
  const auto is_number = [&](std::size_t up) {
    return parse_int64(step.trail[step.trail.size() - up]).has_value();
  };
  if (location.net_length == 0 || (!location.is_tree && !(is_number(1) && is_number(2)))) return {};
  fs::path network;
  for (std::size_t i = std::min(step.first_inside, location.net_length - 1); i < location.net_length; ++i)
    network /= step.trail[i];
  const std::int64_t of_step = location.scheme == Scheme::model_tree ? location.step : -1;
  networks_[{location.scheme, location.rank, of_step}].insert(network.string());
  return network.filename().string();
}

std::set<std::uint32_t> Networks::find_model_ranks(const fs::path& opened, Problems& problems) const {
  std::set<std::uint32_t> model_ranks, reported;
  for (const auto& [recording, networks] : networks_) {
    if (are_models(recording.scheme, networks))
      model_ranks.insert(recording.rank);
    else if (networks.size() > 1 && reported.insert(recording.rank).second)
      problems.push_back(
          {opened, "several recordings of rank " + std::to_string(recording.rank) +
                       ", read as one; expected one of these directories: " + list_of(networks)});
  }
  return model_ranks;
}

}  // namespace opdump::dump
