// What `polygraphy run --save-outputs FILE` writes (RunResults of Polygraphy, JSON):
//   {"lst": [["RUNNER", [{"outputs": {"NAME": {"values": {"array": "BASE64 of a .npy file"}}}}]]]}
// with a list of iterations for each runner. The arrays stay in the text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "format/tensors/dump_data.h"
#include "format/tensors/npy.h"

namespace opdump::format {

struct PolygraphyArray {
  std::string runner;  // "onnxrt-runner-N0-11/24/26-03:00:00"
  std::uint32_t runner_index = 0, iteration = 0;
  std::string name;             // of the output
  Extent text;                  // base64
  std::uint64_t npy_bytes = 0;  // what it is of
  NpyHeader header;
  std::string fault;  // not empty: why it cannot be read
};

// True for the first bytes of such a file.
bool is_polygraphy(std::string_view start);

// Calls take(array) for each array in the order of the text. Errors: corrupt -- it ends within a value; limit
// -- nested deeper than 64 levels. What is no array of such a file is passed over.
using TakePolygraphyArray = std::function<void(PolygraphyArray array)>;
Result<> list_polygraphy(std::string_view file, const TakePolygraphyArray& take);

// The number of bytes that base64 `text` stands for. Errors: corrupt -- its length is not that of base64.
Result<std::uint64_t> base64_bytes(std::string_view text);
// Fills `bytes` with the first of them. Errors: corrupt -- other characters.
Result<> decode_base64(std::string_view text, std::span<std::byte> bytes);

}  // namespace opdump::format
