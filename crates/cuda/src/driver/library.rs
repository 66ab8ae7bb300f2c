//! Matrix products of the vendor's library.

use super::tuning::{self, Algorithm};
use super::{Gpu, Stream, failed};
use crate::product::{Matrix, Product, Rounding};
use cudarc::cublaslt::result::CublasError;
use cudarc::cublaslt::sys::cublasLtMatmulDescAttributes_t as Of;
use cudarc::cublaslt::sys::cublasLtMatmulPreferenceAttributes_t as Prefer;
use cudarc::cublaslt::sys::cublasLtMatrixLayoutAttribute_t as Laid;
use cudarc::cublaslt::{result as library, sys};
use std::ffi::c_void;
use std::sync::Arc;
use wengert_core::{DType, Error};

/// What the library fills in for a proposal.
const NOTHING: sys::cublasLtMatmulHeuristicResult_t = sys::cublasLtMatmulHeuristicResult_t {
    algo: sys::cublasLtMatmulAlgo_t { data: [0; 8] },
    workspaceSize: 0,
    state: sys::cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED,
    wavesCount: 0.0,
    reserved: [0; 4],
};

/// The library, started for one GPU.
pub struct Handle(sys::cublasLtHandle_t);

/// A product with the algorithm that was chosen for it.
pub struct Prepared {
    description: sys::cublasLtMatmulDesc_t,
    layouts: [sys::cublasLtMatrixLayout_t; 3],
    algorithm: sys::cublasLtMatmulAlgo_t,
    is_wide: bool,
    workspace: usize,
}

// SAFETY: descriptions are only read after they were made; the library may be called from any thread.
unsafe impl Send for Prepared {}
// SAFETY: as above.
unsafe impl Sync for Prepared {}

fn wrong(what: &str) -> impl Fn(CublasError) -> Error + '_ {
    move |error| failed(what, format!("{:?}", error.0))
}

/// A value as the library takes attributes.
fn bytes<T>(value: &T) -> (*const c_void, usize) {
    (std::ptr::from_ref(value).cast(), size_of::<T>())
}

fn element(dtype: DType) -> sys::cudaDataType {
    match dtype {
        DType::F64 => sys::cudaDataType::CUDA_R_64F,
        DType::BF16 => sys::cudaDataType::CUDA_R_16BF,
        DType::F16 => sys::cudaDataType::CUDA_R_16F,
        _ => sys::cudaDataType::CUDA_R_32F,
    }
}

fn layout(
    dtype: DType,
    rows: usize,
    cols: usize,
    matrix: Matrix,
    batch: usize,
) -> Result<sys::cublasLtMatrixLayout_t, Error> {
    let describe = wrong("a matrix");
    let made = library::create_matrix_layout(element(dtype), rows as u64, cols as u64, matrix.leading as i64);
    let made = made.map_err(&describe)?;
    if batch > 1 {
        let (count, stride) = (batch as i32, matrix.batch as i64);
        // SAFETY: the layout is valid, and the attributes have the types that the library documents.
        unsafe {
            let (data, size) = bytes(&count);
            library::set_matrix_layout_attribute(made, Laid::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, data, size)
                .map_err(&describe)?;
            let (data, size) = bytes(&stride);
            library::set_matrix_layout_attribute(made, Laid::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, data, size)
                .map_err(&describe)?;
        }
    }
    Ok(made)
}

impl Gpu {
    fn library(&self) -> Result<&Handle, Error> {
        if let Some(known) = self.library.get() {
            return Ok(known);
        }
        // SAFETY: looks for a library and closes it again.
        if !unsafe { sys::is_culib_present() } {
            return Err(failed("there is no library of matrix products", "libcublasLt was not found")
                .help("install the CUDA toolkit, or its package nvidia-cublas"));
        }
        let handle = library::create_handle().map_err(wrong("the library of matrix products does not start"))?;
        Ok(self.library.get_or_init(|| Handle(handle)))
    }

    /// Chooses the algorithm of a product: the first that the library proposes, or a faster one with the same results.
    pub fn prepare(self: &Arc<Gpu>, product: &Product) -> Result<Prepared, Error> {
        self.enter()?;
        let handle = self.library()?;
        let describe = wrong("a product");
        let Product { dtype, batch, rows, cols, inner, a, b, c, .. } = *product;
        let (compute, scale) = match (dtype, product.rounding) {
            (DType::F64, _) => (sys::cublasComputeType_t::CUBLAS_COMPUTE_64F, sys::cudaDataType::CUDA_R_64F),
            (DType::F32, Rounding::Tf32) => {
                (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32, sys::cudaDataType::CUDA_R_32F)
            }
            _ => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, sys::cudaDataType::CUDA_R_32F),
        };
        let description = library::create_matmul_desc(compute, scale).map_err(&describe)?;
        // The library stores columns side by side: c^T = b^T a^T, where the transpose of a row-major matrix is the matrix itself.
        let turned = |matrix: Matrix| i32::from(matrix.is_transposed);
        // SAFETY: the description is valid, and the attributes have the types that the library documents.
        let set = |attribute, (data, size): (*const c_void, usize)| unsafe {
            library::set_matmul_desc_attribute(description, attribute, data, size).map_err(wrong("a product"))
        };
        set(Of::CUBLASLT_MATMUL_DESC_TRANSA, bytes(&turned(b)))?;
        set(Of::CUBLASLT_MATMUL_DESC_TRANSB, bytes(&turned(a)))?;
        if product.bias.is_some() {
            set(Of::CUBLASLT_MATMUL_DESC_EPILOGUE, bytes(&sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS))?;
        }
        let stored = |rows: usize, cols: usize, matrix: Matrix| match matrix.is_transposed {
            true => layout(dtype, rows, cols, matrix, batch),
            false => layout(dtype, cols, rows, matrix, batch),
        };
        let result = Matrix { span: c, is_transposed: false, leading: cols, batch: rows * cols };
        let layouts = [stored(inner, cols, b)?, stored(rows, inner, a)?, stored(rows, cols, result)?];
        let preference = library::create_matmul_pref().map_err(&describe)?;
        let aligned = |start: usize| 1u32 << (start | 256).trailing_zeros().min(8);
        let workspace = product.workspace.length;
        // Sums of parts in the result itself would depend on which part comes first.
        let schemes = sys::cublasLtReductionScheme_t::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE as u32
            | sys::cublasLtReductionScheme_t::CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE as u32;
        // SAFETY: as above.
        let prefer = |attribute, (data, size): (*const c_void, usize)| unsafe {
            library::set_matmul_pref_attribute(preference, attribute, data, size).map_err(wrong("a product"))
        };
        prefer(Prefer::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, bytes(&workspace))?;
        prefer(Prefer::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, bytes(&schemes))?;
        prefer(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, bytes(&aligned(b.span.start)))?;
        prefer(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, bytes(&aligned(a.span.start)))?;
        prefer(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, bytes(&aligned(c.start)))?;
        prefer(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, bytes(&aligned(c.start)))?;
        let [left, right, to] = layouts;
        let mut found = vec![NOTHING; tuning::proposals(product)];
        let (most, mut count) = (found.len() as i32, 0);
        // SAFETY: all descriptions are valid, and there is room for `most` results.
        let asked = unsafe {
            let data = found.as_mut_ptr();
            let (count, library_handle) = (&raw mut count, handle.0);
            let asked = sys::cublasLtMatmulAlgoGetHeuristic(
                library_handle,
                description,
                left,
                right,
                to,
                to,
                preference,
                most,
                data,
                count,
            );
            let _ = library::destroy_matmul_pref(preference);
            asked
        };
        found.truncate(count as usize);
        let is_possible =
            |found: &sys::cublasLtMatmulHeuristicResult_t| found.state == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS;
        let proposals: Vec<Algorithm> =
            found.iter().filter(|found| is_possible(found)).map(|found| (found.algo, found.workspaceSize)).collect();
        let Some(&(algorithm, workspace)) = proposals.first() else {
            let what = format!("a product of {rows} x {inner} and {inner} x {cols} {dtype} in a batch of {batch}");
            return Err(failed(&what, format!("the library has no algorithm: {asked:?}")));
        };
        let mut prepared = Prepared { description, layouts, algorithm, is_wide: dtype == DType::F64, workspace };
        if proposals.len() > 1 {
            tuning::choose(self, handle, product, &mut prepared, &proposals)?;
        }
        Ok(prepared)
    }
}

impl Prepared {
    /// Takes another algorithm.
    pub fn choose(&mut self, (algorithm, workspace): Algorithm) {
        (self.algorithm, self.workspace) = (algorithm, workspace);
    }

    /// An algorithm from another run, if the library can run it.
    pub fn check(&self, handle: &Handle, algorithm: sys::cublasLtMatmulAlgo_t) -> Option<Algorithm> {
        let [left, right, to] = self.layouts;
        let mut result = NOTHING;
        // SAFETY: all descriptions are valid, and the library checks the algorithm.
        let checked = unsafe {
            sys::cublasLtMatmulAlgoCheck(
                handle.0,
                self.description,
                left,
                right,
                to,
                to,
                &raw const algorithm,
                &raw mut result,
            )
        };
        (checked == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS).then_some((algorithm, result.workspaceSize))
    }
}

impl Stream<'_> {
    /// Multiplies: `[a, b, c, bias, workspace]` are addresses.
    pub fn multiply(&self, prepared: &Prepared, addresses: [u64; 5]) -> Result<(), Error> {
        let [a, b, c, bias, workspace] = addresses;
        let [left, right, to] = prepared.layouts;
        let (one, zero) = ([1.0f32, 0.0], [0.0f32; 2]);
        let (one_wide, zero_wide) = (1.0f64, 0.0f64);
        let (alpha, beta) = match prepared.is_wide {
            true => (bytes(&one_wide).0, bytes(&zero_wide).0),
            false => (bytes(&one).0, bytes(&zero).0),
        };
        // SAFETY: the descriptions are valid, and the addresses belong to blocks that the caller holds.
        unsafe {
            if bias != 0 {
                let (data, size) = bytes(&bias);
                library::set_matmul_desc_attribute(
                    prepared.description,
                    Of::CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                    data,
                    size,
                )
                .map_err(wrong("a product"))?;
            }
            library::matmul(
                self.gpu.library()?.0,
                prepared.description,
                alpha,
                beta,
                b as *const c_void,
                left,
                a as *const c_void,
                right,
                c as *const c_void,
                to,
                c as *mut c_void,
                to,
                &raw const prepared.algorithm,
                workspace as *mut c_void,
                prepared.workspace,
                self.stream.cast(),
            )
            .map_err(wrong("a product"))
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: they are valid and used no more.
        unsafe {
            for layout in self.layouts {
                let _ = library::destroy_matrix_layout(layout);
            }
            let _ = library::destroy_matmul_desc(self.description);
        }
    }
}
