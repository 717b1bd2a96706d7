// Element types of HDF5 in our terms, both ways. Inside format/ only.
#pragma once

#include "format/tensors/h5_library.h"
#include "model/dtype.h"

namespace opdump::format {

struct H5ElementType {
  model::DType dtype = model::DType::undefined;  // undefined: a type we have no word for
  bool is_little_endian = true;                  // as our elements are
};

// What the elements of `type` are: integers, IEEE floats, bfloat16, h5py's booleans (an enumeration of FALSE
// and TRUE) and complex numbers (a record of r and i).
H5ElementType find_element_type(const H5Library& h5, hid_t type);

// The type of our elements in a file; negative if files have none.
hid_t file_type_of(const H5Library& h5, model::DType dtype);

}  // namespace opdump::format
