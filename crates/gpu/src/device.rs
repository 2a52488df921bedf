//! Devices, their properties and the kernels that are loaded on them.

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute};
use cudarc::driver::{CudaContext, result};
use cuzk_lease::PciBusId;

use crate::GpuError;
use crate::error::Named;
use crate::pinned::Staging;
use crate::pool::Pool;
use crate::stream::Handle;

/// Bytes of dynamic shared memory that any kernel may use.
const DEFAULT_SHARED: u32 = 48 << 10;

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The driver's number of the device.
    pub ordinal: usize,
    /// The product's name.
    pub name: String,
    /// Domain, bus and device on the PCI bus: the identity of the physical device.
    pub pci_bus_id: PciBusId,
    /// Compute capability, such as (9, 0).
    pub compute_capability: (u32, u32),
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of memory.
    pub memory_total: usize,
}

impl DeviceInfo {
    /// The compute capability as one number, such as 90: the architecture of its machine code.
    pub fn architecture(&self) -> u32 {
        self.compute_capability.0 * 10 + self.compute_capability.1
    }
}

/// A device with a context, the kernels of this program and a pool of memory.
#[derive(Debug)]
pub struct Device {
    info: DeviceInfo,
    modules: Modules,
    pool: Pool,
    staging: Staging,
    streams: Mutex<Vec<Arc<Handle>>>,
    /// The dynamic shared memory that kernels are allowed, where it is more than any may use.
    shared: Mutex<HashMap<&'static str, u32>>,
    /// Dropped after all that is in it.
    context: Arc<CudaContext>,
}

/// The kernels of this program, loaded in the context that is current.
#[derive(Debug, Default)]
struct Modules {
    raw: Vec<sys::CUmodule>,
    kernels: HashMap<String, Function>,
}

/// A kernel's handle. It lives as long as its module, which is the device's.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Function(pub(crate) sys::CUfunction);

// SAFETY: handles of modules and functions name objects of a context, which the driver lets any thread use.
unsafe impl Send for Device {}
// SAFETY: as above; what changes after `open` is behind locks.
unsafe impl Sync for Device {}

/// Makes the driver ready and counts its devices.
fn count() -> Result<usize, GpuError> {
    // SAFETY: loading the driver's library runs its initialisers only.
    if !unsafe { sys::is_culib_present() } {
        return Err(GpuError::NoDriver);
    }
    result::init().named(0, "cuInit")?;
    let count = result::device::get_count().named(0, "cuDeviceGetCount")?;
    Ok(count.max(0) as usize)
}

/// The newest version of CUDA that the driver knows, such as 13000 for 13.0.
pub fn driver_version() -> Result<u32, GpuError> {
    count()?;
    let mut version = 0;
    // SAFETY: the call writes one number.
    let read = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    read.result().named(0, "cuDriverGetVersion")?;
    Ok(version.max(0) as u32)
}

/// All devices, in the order of their ordinals.
pub fn devices() -> Result<Vec<DeviceInfo>, GpuError> {
    (0..count()?).map(describe).collect()
}

/// Bytes of a device's memory that are free now. Makes the device ready for it, which can take a while.
pub fn free_memory(ordinal: usize) -> Result<usize, GpuError> {
    check(ordinal)?;
    let context = CudaContext::new(ordinal).named(ordinal, "cuDevicePrimaryCtxRetain")?;
    let (free, _) = context.mem_get_info().named(ordinal, "cuMemGetInfo")?;
    Ok(free)
}

fn check(ordinal: usize) -> Result<(), GpuError> {
    let found = count()?;
    if ordinal >= found {
        return Err(GpuError::NoDevice {
            wanted: ordinal,
            found,
        });
    }
    Ok(())
}

/// What the device of this ordinal says of itself.
pub fn device(ordinal: usize) -> Result<DeviceInfo, GpuError> {
    check(ordinal)?;
    describe(ordinal)
}

fn describe(ordinal: usize) -> Result<DeviceInfo, GpuError> {
    let device = result::device::get(ordinal as i32).named(ordinal, "cuDeviceGet")?;
    let attribute = |which| {
        // SAFETY: the device's handle comes from the driver.
        let value = unsafe { result::device::get_attribute(device, which) };
        value
            .map(|value| value.max(0) as u32)
            .named(ordinal, "cuDeviceGetAttribute")
    };
    let [domain, bus, slot] = [
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
    ];
    Ok(DeviceInfo {
        ordinal,
        name: result::device::get_name(device).named(ordinal, "cuDeviceGetName")?,
        pci_bus_id: PciBusId {
            domain,
            bus: bus as u8,
            device: slot as u8,
            function: 0,
        },
        compute_capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        // SAFETY: as above.
        memory_total: unsafe { result::device::total_mem(device) }
            .named(ordinal, "cuDeviceTotalMem")?,
    })
}

impl Device {
    /// Opens device `ordinal` and loads `images`, fat binaries with machine code for it.
    ///
    /// At most `memory_limit` bytes are allocated on it, and at most what is free now less what the driver will take for
    /// the kernels' stacks. Freed memory stays with the device's pool, for the next buffer.
    pub fn open(
        ordinal: usize,
        images: &[&[u8]],
        memory_limit: Option<usize>,
    ) -> Result<Arc<Self>, GpuError> {
        check(ordinal)?;
        let info = describe(ordinal)?;
        let context = CudaContext::new(ordinal).named(ordinal, "cuDevicePrimaryCtxRetain")?;
        // A thread that waits for the device sleeps. By default it spins, which keeps a processor busy.
        let waiting = context.set_blocking_synchronize();
        waiting.named(ordinal, "cuCtxSetFlags")?;
        let modules = Modules::load(ordinal, images)?;
        let stacks = modules.stacks(ordinal)?;
        let (free, _) = context.mem_get_info().named(ordinal, "cuMemGetInfo")?;
        let limit = memory_limit
            .unwrap_or(free)
            .min(free.saturating_sub(stacks));
        Ok(Arc::new(Self {
            info,
            modules,
            pool: Pool::new(ordinal, limit, memory_limit.is_some())?,
            staging: Staging::default(),
            streams: Mutex::default(),
            shared: Mutex::default(),
            context,
        }))
    }

    /// What the device says of itself.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Bytes of memory that buffers may still take, and that they may take in all: the device's budget.
    pub fn memory(&self) -> (usize, usize) {
        (self.pool.available(), self.pool.limit())
    }

    /// The most bytes of buffers that there ever were at a time.
    pub fn peak_memory(&self) -> usize {
        self.pool.peak()
    }

    /// Bytes of the physical memory that are free, as the driver counts them.
    pub fn physical_free(&self) -> Result<usize, GpuError> {
        self.bind()?;
        let info = self.context.mem_get_info();
        let (free, _) = info.named(self.ordinal(), "cuMemGetInfo")?;
        Ok(free)
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn staging(&self) -> &Staging {
        &self.staging
    }

    /// The streams that are open on the device. Nobody waits for the device while the list is locked.
    pub(crate) fn streams(&self) -> MutexGuard<'_, Vec<Arc<Handle>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ordinal(&self) -> usize {
        self.info.ordinal
    }

    /// Makes the device's context that of the calling thread.
    pub(crate) fn bind(&self) -> Result<(), GpuError> {
        self.context
            .bind_to_thread()
            .named(self.ordinal(), "cuCtxSetCurrent")
    }

    /// The kernel `name`, allowed `shared` bytes of dynamic shared memory.
    pub(crate) fn kernel(&self, name: &'static str, shared: u32) -> Result<Function, GpuError> {
        let ordinal = self.ordinal();
        let kernel = self.modules.kernels.get(name).ok_or(GpuError::NoKernel {
            device: ordinal,
            name,
        })?;
        if shared > DEFAULT_SHARED {
            // The allowance is the device's and only grows: another lane may be about to use the larger one.
            let mut allowances = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            let allowed = allowances.entry(name).or_insert(DEFAULT_SHARED);
            if shared > *allowed {
                let limit =
                    sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                // SAFETY: the function's module is loaded as long as the device lives.
                let set = unsafe {
                    result::function::set_function_attribute(kernel.0, limit, shared as i32)
                };
                set.named(ordinal, "cuFuncSetAttribute")?;
                *allowed = shared;
            }
        }
        Ok(*kernel)
    }
}

impl Modules {
    fn load(ordinal: usize, images: &[&[u8]]) -> Result<Self, GpuError> {
        let mut modules = Self::default();
        for image in images {
            // The driver reads the image as 8-byte words.
            let mut words = vec![0u64; image.len().div_ceil(8)];
            for (word, bytes) in words.iter_mut().zip(image.chunks(8)) {
                let mut whole = [0; 8];
                whole[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_ne_bytes(whole);
            }
            // SAFETY: a fat binary holds its own length, and the driver copies what it needs.
            let module = unsafe { result::module::load_data(words.as_ptr().cast::<c_void>()) };
            let module = module.named(ordinal, "cuModuleLoadData")?;
            modules.raw.push(module);
            modules.kernels.extend(list_kernels(ordinal, module)?);
        }
        Ok(modules)
    }

    /// Bytes that the driver takes of the device's memory, when such a kernel is launched first, for the stacks of as many
    /// threads as the device may run at once: it keeps room for those of the kernel with the largest.
    fn stacks(&self, ordinal: usize) -> Result<usize, GpuError> {
        let device = result::device::get(ordinal as i32).named(ordinal, "cuDeviceGet")?;
        let attribute = |which| {
            // SAFETY: the device's handle comes from the driver.
            let value = unsafe { result::device::get_attribute(device, which) };
            value.named(ordinal, "cuDeviceGetAttribute")
        };
        let multiprocessors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let threads = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        let mut largest = 0;
        for kernel in self.kernels.values() {
            let local = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
            // SAFETY: the function's module is loaded.
            let bytes = unsafe { result::function::get_function_attribute(kernel.0, local) };
            largest = largest.max(bytes.named(ordinal, "cuFuncGetAttribute")?);
        }
        let factors = [multiprocessors, threads, largest];
        Ok(factors
            .map(|factor| factor.max(0) as usize)
            .iter()
            .product())
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        for &module in &self.raw {
            // SAFETY: every stream holds the device, so no kernel of the module is running or queued, and the device has
            // made its context current. A failure leaves nothing to do.
            let _ = unsafe { result::module::unload(module) };
        }
    }
}

/// The names and handles of a module's kernels.
fn list_kernels(
    ordinal: usize,
    module: sys::CUmodule,
) -> Result<Vec<(String, Function)>, GpuError> {
    let mut count = 0;
    // SAFETY: the module was loaded just now; the call writes one number.
    let counted = unsafe { sys::cuModuleGetFunctionCount(&raw mut count, module) };
    counted
        .result()
        .named(ordinal, "cuModuleGetFunctionCount")?;
    let mut functions: Vec<sys::CUfunction> = vec![std::ptr::null_mut(); count as usize];
    // SAFETY: there is room for `count` handles.
    let listed = unsafe { sys::cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, module) };
    listed
        .result()
        .named(ordinal, "cuModuleEnumerateFunctions")?;
    let name = |function| {
        let mut name = std::ptr::null();
        // SAFETY: the handle comes from the module; the call writes one pointer.
        let named = unsafe { sys::cuFuncGetName(&raw mut name, function) };
        named.result().named(ordinal, "cuFuncGetName")?;
        // SAFETY: the driver's name is a C string that lives as long as the module.
        let name = unsafe { CStr::from_ptr(name) };
        Ok((name.to_string_lossy().into_owned(), Function(function)))
    };
    functions.into_iter().map(name).collect()
}

impl Drop for Device {
    fn drop(&mut self) {
        if self.bind().is_err() {
            return;
        }
        self.staging.clear();
        self.pool.destroy();
    }
}
