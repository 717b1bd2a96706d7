#include "dump/pruned_log.h"

#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "dump/operator_log.h"

namespace opdump::dump {
namespace {

// What a line is of that a later one replaces: its kind, its operator and the step from which on it holds.
struct Replaceable {
  std::string key;
  std::int64_t step = 0;
};

std::optional<Replaceable> find_replaceable(std::string_view text) {
  const LogLine line = decode_log_line(text);
  const auto make = [&](const auto& logged) {
    return Replaceable{
        std::to_string(line.index()) + ' ' + std::to_string(logged.graph_id) + ' ' + logged.operator_name,
        logged.step};
  };
  if (const auto* op = std::get_if<LoggedOperator>(&line); op != nullptr && op->since)
    return Replaceable{"0 " + std::to_string(op->graph_id) + ' ' + op->name, *op->since};
  if (const auto* form = std::get_if<LoggedForm>(&line)) return make(*form);
  if (const auto* layout = std::get_if<LoggedLayout>(&line)) return make(*layout);
  if (const auto* wiring = std::get_if<LoggedWiring>(&line)) return make(*wiring);
  return std::nullopt;
}

}  // namespace

std::string prune_operator_log(std::string_view text, std::int64_t step) {
  std::vector<std::string_view> lines;  // with their line feeds; empty: left out
  std::unordered_map<std::string, std::size_t> last_before;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == std::string_view::npos ? end : end + 1);
    text.remove_prefix(line.size());
    lines.push_back(line);
    const auto found = find_replaceable(line);
    if (!found || found->step > step) continue;
    const auto [entry, is_first] = last_before.try_emplace(found->key, lines.size() - 1);
    if (!is_first) lines[std::exchange(entry->second, lines.size() - 1)] = {};
  }
  std::string pruned;
  for (const std::string_view line : lines) pruned += line;
  return pruned;
}

Result<std::uint64_t> prune_operator_log_file(const std::filesystem::path& rank_directory,
                                              std::int64_t step) {
  const std::filesystem::path path = rank_directory / kOperatorLogName;
  OPDUMP_TRY(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  const std::string pruned = prune_operator_log(text, step);
  OPDUMP_CHECK_OK(write_file_atomic(path, pruned, 0600));
  return pruned.size();
}

}  // namespace opdump::dump
