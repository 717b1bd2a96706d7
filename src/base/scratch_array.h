// Small things that lie together, of which there are no more than was said: beyond some megabytes in a file
// that the system may put on the disk (base/scratch.h).
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "base/resident.h"
#include "base/result.h"
#include "base/scratch.h"

namespace opdump {

// Of trivially copyable things.
template <typename T>
class ScratchArray {
 public:
  // Empty, with room for `most`. Errors: io -- there is no room.
  static Result<ScratchArray> make(std::size_t most) {
    static_assert(std::is_trivially_copyable_v<T>);
    ScratchArray made;
    OPDUMP_TRY(made.memory_, Scratch::make(most * sizeof(T)));
    return made;
  }

  // There must be room.
  void push_back(const T& value) {
    T* const place = data() + size_++;
    *place = value;
    if (memory_.is_mapped()) note_touch(place);
  }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  std::span<const T> span() const { return {data(), size_}; }

 private:
  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  Scratch memory_;
  std::size_t size_ = 0;
};

}  // namespace opdump
