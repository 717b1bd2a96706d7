// ONNX Runtime's blocked layout ("NCHWc"). With all optimizations, convolutions, poolings and the operators
// between them have their channels in blocks of 8 or 16, innermost and with the last block padded. The shape
// of such a tensor does not show this. Recorded tensors have the layout of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine.h"
#include "model_file.h"

namespace opdump::onnx {

// Which axes of a tensor are in blocks, and its dimensions without what fills them up; -1: as it is stored.
struct Blocking {
  bool outer = false, inner = false;  // axis 0, axis 1; of both, axis 0 lies innermost
  std::vector<std::int64_t> dims;
};
using Blockings = std::map<std::string, Blocking, std::less<>>;

// The values and constants of `optimized` that lie in blocks of `block`. `names`: find_original_names();
// `channels` of a value of the original, -1 if it is not known.
Blockings find_blocked(const ModelFile& original, const ModelFile& optimized,
                       const std::vector<std::vector<std::string>>& names, std::size_t block,
                       const std::function<std::int64_t(std::string_view)>& channels);

// The inputs of operators that bring values into blocks: those whose channels find_blocked() asks for. Empty
// if nothing is in blocks.
std::vector<std::string_view> find_reordered(const ModelFile& optimized);
bool has_blocks(const ModelFile& optimized);

// The number of channels in a block, which depends on the processor; 0: none, or unknown.
std::size_t find_block(const Runtime& runtime);

// The tensor as it lies without blocks.
struct Restored {
  std::vector<std::int64_t> dims;
  std::vector<std::byte> bytes;
};
// Nothing if `tensor` cannot be what `blocking` says.
std::optional<Restored> restore(const Tensor& tensor, const Blocking& blocking, std::size_t block);

}  // namespace opdump::onnx
