// A JSON text of one large list cut into its items, so that they can be parsed one by one: a parsed text
// takes several times as much memory as the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opdump::format {

struct JsonPiece {  // of the text, in bytes
  std::uint32_t begin = 0, size = 0;
};

struct JsonPieces {
  std::string rest;            // the text without the operators: "op": []
  std::vector<JsonPiece> ops;  // of all graphs, one behind the other
  std::vector<std::size_t> graph_ends;
};

// Cuts {"graph": [{"op": [{...}, ...], ...}, ...], ...}. Only brackets and strings are looked at: what is not
// JSON is found when the pieces are parsed, and is in none of them only if `rest` is not JSON either. Nothing
// if the text is not of that form, has a member twice or has 4 GiB. `text` may be a file that is mapped.
std::optional<JsonPieces> cut_graphs(std::string_view text);

}  // namespace opdump::format
