# A toolchain for Debian's cross compilers: S2_CROSS in the environment names the target (aarch64-linux-gnu). Libraries are those
# of the target's architecture, installed by apt next to those of this machine; programs of the target run by qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "$ENV{S2_CROSS}")
set(CMAKE_C_COMPILER $ENV{S2_CROSS}-gcc)
set(CMAKE_CXX_COMPILER $ENV{S2_CROSS}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE $ENV{S2_CROSS})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR})
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/$ENV{S2_CROSS}/pkgconfig:/usr/share/pkgconfig)
