// How the ranks of a run hold one tensor together: each has a part of it, all of it, or a term of a sum.
//
//   4 ranks are a mesh of 2 x 2: rank = 2 * (place in the first dimension) + (place in the second)
//   {shard axis 0}, {replicate}     rows of the tensor by the first dimension: ranks 0 and 1 have the same
//   ones {replicate}, {sum}              ranks 0 and 1 each have a term of the tensor, and ranks 2 and 3 the
//   same
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/tensor_view.h"

namespace opdump::compare {

// What a dimension of the mesh does to a tensor.
struct Placement {
  enum class Kind : std::uint8_t { replicate, shard, sum };
  Kind kind = Kind::replicate;
  // A shard is cut along this axis. The axis has so many blocks, and each is cut alone: 3 where q, k and v
  // lie on top of each other.
  std::size_t axis = 0;
  std::int64_t blocks = 1;
  bool operator==(const Placement&) const = default;
};

struct ShardLayout {
  std::vector<std::int64_t> mesh;     // sizes of its dimensions
  std::vector<Placement> placements;  // one for each dimension

  bool has_sums() const;
  // "axis 1 in 2 parts", "axis 0 in 2 parts of each of 3 blocks; a sum of 2"; "" if all ranks have all of it.
  std::string describe() const;
  // The ranks, by their place in the mesh, that hold the terms of what `rank` holds, itself among them.
  std::vector<std::size_t> terms_of(std::size_t rank) const;
};

// What is known of a layout without a look at the elements.
struct KnownLayout {
  std::vector<std::int64_t> mesh = {};  // empty: any
  // Holds one placement for each dimension of the mesh, or nothing where it is not known; empty if none is.
  std::vector<std::optional<Placement>> placements = {};
  bool operator==(const KnownLayout&) const = default;
};

// A part of the whole and the shard that holds it: equal shapes, elements in the same order.
struct ShardViews {
  model::TensorView whole, shard;
};

// Nothing if a tensor of the whole's shape in this layout has a part of another shape at `rank`. Sizes that
// the mesh does not divide are cut as torch.chunk cuts them.
std::optional<ShardViews> view_shard(const model::TensorView& whole, const model::TensorView& shard,
                                     const ShardLayout& layout, std::size_t rank);

// Layouts on meshes of `ranks` ranks of which the first has a tensor of the shape `shard`, or all that are
// looked at; the plainest first. Those that `known` excludes are left out. Sums that are not known only with
// `may_sum`.
std::vector<ShardLayout> find_shard_layouts(const model::Shape& whole, const model::Shape& shard,
                                            std::size_t ranks, const KnownLayout& known, bool may_sum);

// Some meshes of `ranks` ranks, with dimensions of prime sizes.
std::vector<std::vector<std::int64_t>> meshes_of(std::size_t ranks);

// (2,3,4) as (6,4) in two axes: the first ones together. Shapes with fewer axes stay as they are.
model::Shape fold_axes(const model::Shape& shape, std::size_t axes);

// Thins out both with steps along their axes, so that they have about `most` elements at most.
ShardViews thin_out(ShardViews views, std::uint64_t most);

}  // namespace opdump::compare
