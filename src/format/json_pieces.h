// A JSON text of one large list cut into its items, so that they can be parsed one by one: a parsed text
// takes several times as much memory as the text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opdump::format {

struct JsonPieces {
  std::string rest;                                // the text without the operators: "op": []
  std::vector<std::vector<std::string_view>> ops;  // of each graph, in the text
};

// Cuts {"graph": [{"op": [{...}, ...], ...}, ...], ...}. Only brackets and strings are looked at: what is not
// JSON is found when the pieces are parsed, and is in none of them only if `rest` is not JSON either. Nothing
// if the text is not of that form, or tells a member twice.
std::optional<JsonPieces> cut_graphs(std::string_view text);

}  // namespace opdump::format
