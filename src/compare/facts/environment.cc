#include "compare/facts/environment.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "dump/status_file.h"

namespace opdump::compare {
namespace {

constexpr std::size_t kMaxFacts = 4;

// Returns the environment of the first rank: the others ran alike.
dump::RunEnvironment facts_of(const dump::DumpSet& dump) {
  if (dump.statuses().empty()) return {};
  const dump::RecordingStatus& status = dump.statuses().begin()->second;
  dump::RunEnvironment facts = status.environment;
  facts.erase("command");
  facts.erase("python");
  if (!facts.empty() && !status.runtime.empty()) facts["runtime"] = status.runtime;
  return facts;
}

// A seed that nobody set: PyTorch draws 53 bits or more, people write short numbers.
bool is_drawn_seed(std::string_view seed) {
  const auto number = parse_uint64(seed);
  return number && *number > UINT32_MAX;
}

}  // namespace

std::optional<std::string> describe_environments(const dump::DumpSet& golden, const dump::DumpSet& actual) {
  const dump::RunEnvironment g = facts_of(golden), a = facts_of(actual);
  if (g.empty() || a.empty()) return std::nullopt;
  std::set<std::string> names;
  for (const dump::RunEnvironment* of : {&g, &a})
    for (const auto& [name, value] : *of) names.insert(name);
  std::vector<std::string> differences;
  for (const std::string& name : names) {
    const auto in_golden = g.find(name), in_actual = a.find(name);
    if (in_golden == g.end())
      differences.push_back(name + " is " + in_actual->second + " in actual only");
    else if (in_actual == a.end())
      differences.push_back(name + " is " + in_golden->second + " in golden only");
    else if (name == "seed" && is_drawn_seed(in_golden->second) && is_drawn_seed(in_actual->second))
      continue;  // it is another one in each run, and says nothing where nothing random ran
    else if (in_golden->second != in_actual->second)
      differences.push_back(name + " is " + in_golden->second + " in golden and " + in_actual->second +
                            " in actual");
  }
  if (differences.empty()) return std::nullopt;
  std::string text = "environments differ: ";
  for (std::size_t i = 0; i < std::min(differences.size(), kMaxFacts); ++i)
    text += (i == 0 ? "" : ", ") + differences[i];
  if (differences.size() > kMaxFacts)
    text += ", and " + std::to_string(differences.size() - kMaxFacts) + " more";
  return text;
}

}  // namespace opdump::compare
