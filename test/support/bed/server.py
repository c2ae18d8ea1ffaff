"""A stock `clickhouse server` out of a wheel of chdb (2.0 to 3.7): its library exports the server's own main.

usage: server.py <folder of the unpacked wheel> <folder of the server, with config.xml>

It ends by a signal. Exit by kill -9 is a real crash: nothing is caught here.
"""
import ctypes
import glob
import os
import sys

wheel, folder = (os.path.abspath(path) for path in sys.argv[1:3])
os.chdir(folder)
# One process, which is the one that is killed.
os.environ['CLICKHOUSE_WATCHDOG_ENABLE'] = '0'
for stub in glob.glob(wheel + '/chdb.libs/*.so') + glob.glob(wheel + '/chdb/libpybind11nonlimitedapi_stubs.so'):
    ctypes.CDLL(stub, mode=ctypes.RTLD_GLOBAL)
library = ctypes.CDLL(glob.glob(wheel + '/chdb/_chdb*.so')[0])
main = library['_Z25mainEntryClickHouseServeriPPc']  # int mainEntryClickHouseServer(int, char **)
arguments = [b'clickhouse-server', b'--config-file=' + os.fsencode(folder) + b'/config.xml']
print('ended', main(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None)))
