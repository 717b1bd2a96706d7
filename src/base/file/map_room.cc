#include "base/file/map_room.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace opdump {
namespace {

constexpr std::size_t kRoomBytes = 8 << 20;  // at most as much of each thread stays mapped

class Room {
 public:
  Room()
      : base_(::mmap(nullptr, kRoomBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() {
    if (base_ != MAP_FAILED && size_ > 0) ::munmap(base_, size_);
  }

  bool has_room(std::size_t size) const { return base_ != MAP_FAILED && size <= size_ - used_; }

  // `size` bytes of the file, for which there is room; null if they cannot be mapped.
  const std::byte* map(const Fd& fd, std::size_t size) {
    static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::byte* const to = static_cast<std::byte*>(base_) + used_;
    if (::mmap(to, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd.get(), 0) == MAP_FAILED) {
      size_ = used_;  // what was reserved there may belong to somebody else now
      return nullptr;
    }
    used_ += (size + page - 1) / page * page;
    return to;
  }

 private:
  void* base_;
  std::size_t size_ = kRoomBytes, used_ = 0;
};

thread_local std::shared_ptr<Room> last_room;

}  // namespace

std::optional<RoomMapping> map_into_room(const Fd& fd, std::size_t size) {
  if (!last_room || !last_room->has_room(size)) last_room = std::make_shared<Room>();
  const std::byte* const bytes = last_room->has_room(size) ? last_room->map(fd, size) : nullptr;
  if (bytes == nullptr) return std::nullopt;
  return RoomMapping{{bytes, size}, last_room};
}

}  // namespace opdump
