"""Parameters that several verbs take."""

__all__ = [
    "BITS",
    "BOXES",
    "BOX_LABEL",
    "CLASS_FOLDER",
    "C_OR_AUTO",
    "DATA",
    "DENSE",
    "DETECTOR",
    "DIR",
    "IDS",
    "IMAGES",
    "IMAGE_MODEL",
    "KEEP",
    "KERNEL_PARAM",
    "LABELS",
    "LEARNER_MODEL",
    "MAP_KERNEL",
    "MAP_PARAM",
    "MATCHES_FORMAT",
    "MATCHES_OUT",
    "MODEL_OUT",
    "OUT_FORMAT",
    "PHOTOS",
    "PROBA",
    "PROJECT",
    "SCORES",
    "STRICT",
    "TABLE",
]

from mercer._base.parameters import REQUIRED, argument, choice, flag, integer, number, pathname, text, texts

DATA = argument("x", "DATA", "Rows: a file, FILE.npz::NAME, or - for the input.")
DIR = argument("place", "DIR", "The directory of an index.")
STRICT = flag("strict", "Stop at an image that cannot be read, instead of skipping it by name.")
MODEL_OUT = pathname("out", REQUIRED, "The model file to write.", "FILE", "-o")
BITS = integer("bits", None, "Bits of a code, of a model with several rates.", shown="the most", least=1)
LABELS = text("labels", None, "File of the labels, one for each row of DATA: npy, FILE.npz::NAME, or one column of "
    "csv, tsv or parquet.", "FILE", panel="Input")  # fmt: skip
IMAGES = argument("files", "FILES...", "Images, and folders of them.", kind=list)
IMAGE_MODEL = argument("model", "MODEL", "A file written by mercer images train.")
OUT_FORMAT = choice("out_format", "npy npz csv tsv", None, "Format of --out.", "FORMAT", shown="by suffix; csv for -")
DETECTOR = argument("model", "MODEL", "A file written by mercer detect train.")
PHOTOS = pathname("images", REQUIRED, "A folder of images, those without objects included.", "DIR")
BOXES = pathname("boxes", REQUIRED, "Boxes: csv, a PASCAL VOC file or folder of XML, or COCO's JSON.")
BOX_LABEL = text("label", None, "Which objects, if the boxes are of several kinds.")
CLASS_FOLDER = argument("folder", "FOLDER", "A folder with one folder of images per class.")
SCORES = flag("scores", "The score of each class instead of the label.")
PROBA = flag("proba", "The probability of each class instead of the label.")
IDS = text("ids", None, "Ids of the rows: a file with one per line, or npy. A column of DATA is named with --id.",
    "FILE", shown="numbers in turn")  # fmt: skip
KEEP = text("keep", None, "Columns of DATA that are kept beside the rows for --where, by name; they are then no "
    "features.", "A,B,...")  # fmt: skip
MATCHES_OUT = text("out", None, "Write what is found (csv, tsv, json, parquet, npz, npy); - is the output.", "FILE",
    "-o")  # fmt: skip
MATCHES_FORMAT = OUT_FORMAT.but(words=("csv", "tsv", "json", "parquet", "npz", "npy"))
MAP_KERNEL = text("kernel", None, "Kernel, by the names of mercer kernel.", "NAME", "-k", shown="the map's own")
MAP_PARAM = texts("param", None, "Parameter of the map, or as kernel__NAME of the kernel; may be repeated.",
    "NAME=VALUE", "-p")  # fmt: skip
KERNEL_PARAM = texts("param", None, "Parameter of the kernel; may be repeated.", "NAME=VALUE", "-p")
PROJECT = integer("project", None, "Project the features at random to rows of N numbers.", least=1)
DENSE = flag("dense", "Write the zeros of sparse features too.")
LEARNER_MODEL = argument("model", "MODEL", "A file written by mercer fit or mercer wire fit.")
C_OR_AUTO = number("C", "auto", "Weight of the losses; auto cross-validates.", "NUMBER|auto", above=0, words=("auto",))
TABLE = text("table", None, "Table or collection of the index.", "NAME", "--table --collection", panel="Store")
