#include "math/hash.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "math/convert.h"
#include "math/memory_walk.h"

namespace opdump::math {
namespace {

using model::DType;
using model::TensorView;

constexpr std::size_t kBlock = 4096;  // elements

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

void add_elements(const TensorView& view, EVP_MD_CTX* context) {
  if (view.is_contiguous()) {
    EVP_DigestUpdate(context, view.data, view.byte_count());
    return;
  }
  const std::size_t size = model::dtype_info(view.dtype).bits / 8;
  alignas(64) std::array<std::byte, kBlock * 16> buffer;
  RowMajorReader reader(view);
  while (reader.remaining() > 0) {
    const std::size_t count = std::min<std::uint64_t>(reader.remaining(), kBlock);
    EVP_DigestUpdate(context, reader.next(count, buffer.data()), count * size);
  }
}

void add_unpacked(const TensorView& view, EVP_MD_CTX* context) {
  std::array<std::byte, kBlock> buffer;
  const std::uint64_t bits = model::dtype_info(view.dtype).bits;
  const std::uint64_t bytes = view.byte_count();  // and so many elements
  for (std::uint64_t i = 0; i < bytes; i += kBlock) {
    const std::size_t count = std::min<std::uint64_t>(kBlock, bytes - i);
    unpack_integers(view.dtype, view.data + i * bits / 8, buffer.data(), count);
    EVP_DigestUpdate(context, buffer.data(), count);
  }
}

std::string digest_hex(const TensorView& view, const EVP_MD* algorithm) {
  const Context context(EVP_MD_CTX_new());
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned length = 0;
  // The digest marks equal tensors here and protects nothing, which the flag declares to a FIPS build of
  // OpenSSL.
  if (!context) return "";
  EVP_MD_CTX_set_flags(context.get(), EVP_MD_CTX_FLAG_NON_FIPS_ALLOW);
  if (EVP_DigestInit_ex(context.get(), algorithm, nullptr) != 1) return "";
  const model::DTypeInfo& dtype = model::dtype_info(view.dtype);
  if (dtype.bits >= 8)
    add_elements(view, context.get());
  else if (dtype.kind == model::DTypeKind::floating)
    EVP_DigestUpdate(context.get(), view.data, view.byte_count());
  else if (dtype.bits > 0)
    add_unpacked(view, context.get());
  if (EVP_DigestFinal_ex(context.get(), digest.data(), &length) != 1) return "";
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < length; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

}  // namespace

std::string md5_hex(const TensorView& view) { return digest_hex(view, EVP_md5()); }
std::string sha1_hex(const TensorView& view) { return digest_hex(view, EVP_sha1()); }

}  // namespace opdump::math
