#include "compare/pairs/sharded/shard_rules.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace opdump::compare {
namespace {

constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::string_view kSpace = " \t\r";

std::vector<std::string_view> words_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  for (std::size_t first = line.find_first_not_of(kSpace); first != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kSpace, first), line.size());
    words.push_back(line.substr(first, end - first));
    first = line.find_first_not_of(kSpace, end);
  }
  return words;
}

std::optional<std::int64_t> number_in(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    return std::nullopt;
  return number;
}

Result<> add_line(const std::vector<std::string_view>& words, ShardRules& rules) {
  if (words[0] == "mesh" && rules.mesh.empty()) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto size = number_in(words[i], 1, kMostRanks / rules.rank_count());
      if (!size)
        return Error(Code::usage, "\"" + std::string(words[i]) + "\" is no size of a dimension of a mesh");
      rules.mesh.push_back(*size);
    }
    if (rules.mesh.empty()) return Error(Code::usage, "expected the sizes of the mesh, as \"mesh 2 4\"");
    return ok();
  }
  if (rules.mesh.empty()) return Error(Code::usage, "expected first a line with the mesh, as \"mesh 2 4\"");
  if (words.size() != 2 + rules.mesh.size())
    return Error(Code::usage, "expected a part of an operator's name, a slot, and " +
                                  std::to_string(rules.mesh.size()) + " placements, one for each dimension");
  ShardRules::Line line{std::string(words[0]), std::string(words[1]), {}};
  if (line.slot != "*" && !line.slot.starts_with("input") && !line.slot.starts_with("output"))
    return Error(Code::usage, "\"" + line.slot + "\" is no slot; expected input, output.0, ... or *");
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto placement = parse_placement(words[i]);
    if (!placement)
      return Error(Code::usage,
                   "\"" + std::string(words[i]) +
                       "\" is no placement; expected replicate, sum, shard:AXIS or shard:AXIS:BLOCKS");
    line.placements.push_back(*placement);
  }
  rules.lines.push_back(std::move(line));
  return ok();
}

}  // namespace

std::int64_t ShardRules::rank_count() const {
  std::int64_t count = 1;
  for (const std::int64_t size : mesh) count *= size;
  return count;
}

std::optional<Placement> parse_placement(std::string_view text) {
  if (text == "replicate") return Placement{};
  if (text == "sum") return Placement{.kind = Placement::Kind::sum};
  constexpr std::string_view kShard = "shard:";
  if (!text.starts_with(kShard)) return std::nullopt;
  text.remove_prefix(kShard.size());
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto axis = number_in(text.substr(0, colon), 0, 64);
  const auto blocks = colon == text.size() ? 1 : number_in(text.substr(colon + 1), 1, INT32_MAX);
  if (!axis || !blocks) return std::nullopt;
  return Placement{
      .kind = Placement::Kind::shard, .axis = static_cast<std::size_t>(*axis), .blocks = *blocks};
}

KnownLayout ShardRules::find(std::string_view op, const dump::Slot& slot) const {
  const std::string side(model::kSideNames[static_cast<std::size_t>(slot.side)]);
  const std::string name = side + "." + std::to_string(slot.index);
  for (const Line& line : lines)
    if ((line.op == "*" || op.find(line.op) != std::string_view::npos) &&
        (line.slot == "*" || line.slot == side || line.slot == name))
      return {mesh, {line.placements.begin(), line.placements.end()}};
  return {.mesh = mesh};
}

Result<ShardRules> parse_shard_rules(std::string_view text) {
  ShardRules rules;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    if (auto added = add_line(words, rules); !added)
      return added.take_error().within("line " + std::to_string(number));
  }
  return rules;
}

}  // namespace opdump::compare
