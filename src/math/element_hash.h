// Numbers that identify the elements of a tensor by their bits, to find them in another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/tensor_view.h"

namespace opdump::math {

// Of the elements of a contiguous tensor from `first` on, as many as `out` has room for: the finaliser of
// SplitMix64 of their bits, which differs between element sizes. Types of fewer than 8 bits: of their bytes.
// Complex numbers: of both parts, so that the real ones are found in a tensor by themselves.
void hash_elements(const model::TensorView& tensor, std::size_t first, std::span<std::uint64_t> out);

// How many elements are hashed.
std::size_t hashed_count(const model::TensorView& tensor);

// The sum of all of them, modulo 2^64.
std::uint64_t sum_of_hashes(const model::TensorView& tensor);

}  // namespace opdump::math
