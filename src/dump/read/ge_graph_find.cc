#include "dump/read/ge_graph_find.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/file/file.h"
#include "base/text/text.h"
#include "format/graphs/ge/ge_build.h"
#include "format/graphs/ge/ge_graph.h"
#include "model/operator.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 8;  // of directories: deeper than any dump

// Calls `visit` for each entry below `top`; links to directories are not followed. False of `visit` skips
// what is below the entry.
template <typename Visit>
Result<> walk(const fs::path& top, const Visit& visit) {
  std::error_code failed;
  fs::recursive_directory_iterator entry(top, fs::directory_options::skip_permission_denied, failed), end;
  for (; !failed && entry != end; entry.increment(failed)) {
    const bool goes_on = visit(*entry);
    if (!goes_on || entry.depth() >= kMaxDepth) entry.disable_recursion_pending();
  }
  if (failed) return Error(Code::io, top.string() + ": " + failed.message());
  return ok();
}

// Spelt as the file, or as dumps spell it; of a function of TensorFlow with or without its call.
bool is_name(std::string_view name, std::string_view wanted) {
  constexpr std::string_view kCall = "StatefulPartitionedCall";
  const auto without_call = [&](std::string_view text) {
    return text.starts_with(kCall) && text.size() > kCall.size() + 1 ? text.substr(kCall.size() + 1) : text;
  };
  name = without_call(name);
  wanted = without_call(wanted);
  return name == wanted || model::sanitise_name(std::string(name)) == wanted;
}

// An operator that was fused stands among the names of what it was made of, or only at the output that was
// its.
bool made_of(const format::ProtoMessage& op, std::string_view wanted) {
  const format::ProtoMessage* names = format::find_ge_attribute(op, "_datadump_original_op_names");
  const format::ProtoField* list = names ? format::find_last(*names, "list") : nullptr;
  const auto is_wanted = [&](const format::ProtoField& item) {
    return item.name == "s" && is_name(item.value, wanted);
  };
  if (list && std::ranges::any_of(list->fields, is_wanted)) return true;
  return std::ranges::any_of(op, [&](const format::ProtoField& field) {
    if (field.name != "output_desc") return false;
    const format::ProtoMessage* origin = format::find_ge_attribute(field.fields, "_datadump_origin_name");
    return origin && std::ranges::any_of(*origin, is_wanted);
  });
}

void look_at(const format::ProtoMessage& op, std::string_view wanted, GeGraphCandidate& candidate) {
  const format::ProtoField* name = format::find_last(op, "name");
  const format::ProtoField* type = format::find_last(op, "type");
  if (type && type->value == "Data") candidate.has_data = true;
  if (name && !wanted.empty() && (is_name(name->value, wanted) || made_of(op, wanted)))
    candidate.has_operator = true;
  const format::ProtoMessage* phase = format::find_ge_attribute(op, format::kGePhase);
  const format::ProtoField* text = phase ? format::find_last(*phase, "s") : nullptr;
  if (text && text->value != "forward") candidate.is_training = true;
  ++candidate.operator_count;
}

Result<> read_candidate(GeGraphCandidate& candidate, std::string_view op) {
  OPDUMP_TRY(const std::string text, read_file(candidate.path, format::kMaxGeGraphBytes));
  OPDUMP_TRY(const format::ProtoMessage model, format::decode_ge_graph(text));
  candidate.has_iterator = text.find("Iterator") != std::string::npos;
  bool is_first = true;
  for (const format::ProtoField& graph : model) {
    if (graph.name != "graph") continue;
    const format::ProtoField* name = format::find_last(graph.fields, "name");
    if (std::exchange(is_first, false) && name) candidate.graph_name = name->value;
    for (const format::ProtoField& field : graph.fields)
      if (field.name == "op") look_at(field.fields, op, candidate);
  }
  return ok();
}

// The last of the candidates, which are sorted by number.
std::optional<std::size_t> last_with(const std::vector<GeGraphCandidate>& candidates,
                                     bool GeGraphCandidate::*sign) {
  for (std::size_t i = candidates.size(); i-- > 0;)
    if (candidates[i].*sign) return i;
  return std::nullopt;
}

void choose(GeGraphSearch& search, std::string_view op) {
  struct Way {
    bool GeGraphCandidate::*sign;
    std::string reason;
  };
  std::vector<Way> ways{{&GeGraphCandidate::has_operator, "holds the operator " + std::string(op)}};
  if (op.empty())
    ways = {{&GeGraphCandidate::has_iterator, "has the word Iterator"},
            {&GeGraphCandidate::is_training, "has a backward or optimizer part"},
            {&GeGraphCandidate::has_data, "has an operator of type Data"}};
  for (Way& way : ways) {
    search.chosen = last_with(search.candidates, way.sign);
    if (!search.chosen) continue;
    const auto count = std::ranges::count(search.candidates, true, way.sign);
    search.reason = std::move(way.reason);
    if (count > 1) search.reason += "; the highest of " + std::to_string(count) + " that do";
    return;
  }
}

}  // namespace

std::optional<GeGraphFileName> parse_ge_graph_file_name(std::string_view name) {
  constexpr std::string_view kPrefix = "ge_proto_", kSuffix = ".txt", kGraph = "graph_";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  const std::size_t end = name.find('_');
  const std::string_view digits = name.substr(0, end);
  const auto number = is_digits(digits) ? parse_uint64(digits) : std::nullopt;
  if (end == std::string_view::npos || !number || (digits.size() != 5 && digits.size() != 8))
    return std::nullopt;
  GeGraphFileName result{.number = *number, .graph_id = {}, .stage = {}};
  name.remove_prefix(end + 1);
  if (name.starts_with(kGraph)) {
    const std::string_view rest = name.substr(kGraph.size());
    const std::size_t id_end = rest.find('_');
    if (id_end != std::string_view::npos && is_digits(rest.substr(0, id_end))) {
      result.graph_id = parse_int64(rest.substr(0, id_end));
      name = rest.substr(id_end + 1);
    }
  }
  result.stage = name;
  return result;
}

Result<GeGraphSearch> find_ge_graph(const fs::path& directory, std::string_view op) {
  std::error_code failed;
  if (!fs::is_directory(directory, failed))
    return Error(Code::not_found, directory.string() + ": there is no such directory");
  GeGraphSearch search;
  OPDUMP_CHECK_OK(walk(directory, [&](const fs::directory_entry& entry) {
    const auto name = parse_ge_graph_file_name(entry.path().filename().string());
    std::error_code unreadable;
    if (!name || name->stage != "Build" || !entry.is_regular_file(unreadable)) return true;
    GeGraphCandidate candidate{.path = entry.path(), .name = *name, .graph_name = {}};
    if (auto read = read_candidate(candidate, op))
      search.candidates.push_back(std::move(candidate));
    else
      search.problems.push_back({entry.path(), read.error().message()});
    return true;
  }));
  std::ranges::sort(search.candidates, {}, [](const GeGraphCandidate& candidate) {
    return std::pair(candidate.name.number, candidate.path);
  });
  choose(search, op);
  return search;
}

std::vector<fs::path> find_model_directories(const fs::path& dump, const GeGraphCandidate& graph) {
  std::vector<fs::path> found;
  const std::string spelt = model::sanitise_name(graph.graph_name);
  const auto walked = walk(dump, [&](const fs::directory_entry& entry) {
    std::error_code failed;
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory(failed)) return false;
    if (name.empty() || (name != graph.graph_name && name != spelt)) return true;
    const fs::path model =
        graph.name.graph_id ? entry.path() / std::to_string(*graph.name.graph_id) : fs::path();
    found.push_back(!model.empty() && fs::is_directory(model, failed) ? model : entry.path());
    return false;
  });
  if (!walked) found.clear();
  std::ranges::sort(found);
  return found;
}

}  // namespace opdump::dump
