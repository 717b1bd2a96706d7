/* opdump, the C interface to HDF5 files of datasets: one file, written dataset by dataset or read as a list.
 * For engines whose recordings are such files (PyTorch's dumper); a session (opdump.h) knows nothing of them.
 *
 * The rules of opdump.h hold: pointers are borrowed for the call unless said otherwise, `size` is sizeof the
 * struct, failures are opdump_status with a text in opdump_last_error(). A file belongs to one thread at a
 * time.
 */
#ifndef OPDUMP_OPDUMP_H5_H
#define OPDUMP_OPDUMP_H5_H

#include "opdump/opdump.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opdump_h5 opdump_h5;

/* What the attribute DataType of a dataset says of the tensor that it holds: the numbers of PyTorch's dumper,
 * and from 14 on those of ONNX, which the dumper has no word for. */
typedef enum opdump_h5_data_type {
  OPDUMP_H5_FLOAT32 = 1,
  OPDUMP_H5_UINT8 = 2,
  OPDUMP_H5_INT8 = 3,
  OPDUMP_H5_INT16 = 5,
  OPDUMP_H5_INT32 = 6,
  OPDUMP_H5_INT64 = 7,
  OPDUMP_H5_BOOL = 9,
  OPDUMP_H5_FLOAT16 = 10, /* stored as float32 */
  OPDUMP_H5_FLOAT64 = 11,
  OPDUMP_H5_COMPLEX64 = 14,  /* stored as float32, with a last dimension of 2 */
  OPDUMP_H5_COMPLEX128 = 15, /* stored as float64, likewise */
  OPDUMP_H5_BFLOAT16 = 16    /* stored as float32 */
} opdump_h5_data_type;

/* One 32-bit integer, or a list of 64-bit ones. */
typedef struct opdump_h5_attribute {
  const char* name;
  uint32_t is_list;
  uint32_t count; /* 1 if it is no list */
  const int64_t* values;
} opdump_h5_attribute;

/* A dataset. */
typedef struct opdump_h5_dataset {
  uint32_t size;  /* sizeof(opdump_h5_dataset) */
  uint32_t dtype; /* opdump_dtype: integers, float32, float64. OPDUMP_DTYPE_UNDEFINED: to be written, a group
                     instead; read, elements that are no numbers, or lie outside of the file */
  const char* path; /* "/add_Tensor/1/input/self" */
  uint32_t rank;    /* 0 for a scalar */
  uint32_t attribute_count;
  const int64_t* shape; /* rank elements */
  const void* data;     /* row by row; NULL: a dataset without data */
  const opdump_h5_attribute*
      attributes; /* in the order of their creation; read, only the integers among them */
} opdump_h5_dataset;

/* Creates the file or empties it, for writing. Release *file with opdump_h5_close. Until then the file says
 * that it is being recorded (attributes of its root, docs/formats/h5.md), which remains so if the process is
 * killed. */
OPDUMP_API opdump_status opdump_h5_create(const char* path, opdump_h5** file);

/* Adds a dataset, or a group, and the groups that lead to it. Fails if the dataset exists; a group may. */
OPDUMP_API opdump_status opdump_h5_write(opdump_h5* file, const opdump_h5_dataset* dataset);

/* Hands all that was written to the system: whatever becomes of the process, the file is readable up to here.
 */
OPDUMP_API opdump_status opdump_h5_flush(opdump_h5* file);

/* The file lacks something that it should have: once closed, it says that it is incomplete, and the first
 * `what`. A failure of the functions above does the same. */
OPDUMP_API opdump_status opdump_h5_lose(opdump_h5* file, const char* what);

/* Opens the file for reading and lists its datasets. Release *file with opdump_h5_close. */
OPDUMP_API opdump_status opdump_h5_open(const char* path, opdump_h5** file);

/* The dataset of this number, counted from 0 in alphabetical order of paths; all pointers are valid until the
 * file is closed. OPDUMP_ERROR_ARGUMENT: there are not as many; OPDUMP_ERROR_IO: its elements cannot be read.
 */
OPDUMP_API opdump_status opdump_h5_at(opdump_h5* file, size_t index, opdump_h5_dataset* dataset);

/* Finishes a file that is written, and frees. NULL is allowed. */
OPDUMP_API opdump_status opdump_h5_close(opdump_h5* file);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_OPDUMP_H5_H */
